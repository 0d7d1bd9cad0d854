//go:build !race

package rmcastsim_test

const raceEnabled = false
