//go:build !race

package healthsim_test

const raceEnabled = false
