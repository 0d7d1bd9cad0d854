//go:build race

package zonesim_test

// raceEnabled shortens sweeps: what they run is one goroutine.
const raceEnabled = true
