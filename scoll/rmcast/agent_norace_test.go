//go:build !race

package rmcast_test

const raceEnabled = false
