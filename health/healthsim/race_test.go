//go:build race

package healthsim_test

// raceEnabled makes sweeps short: machines have no goroutines, and the race detector
// finds in the first plans what there is to find.
const raceEnabled = true
