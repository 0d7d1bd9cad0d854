//go:build race

package rmcastsim_test

// raceEnabled shortens sweeps: what they run is one goroutine.
const raceEnabled = true
