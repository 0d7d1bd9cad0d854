//go:build race

package mutants

// raceEnabled says whether the race detector watches.
const raceEnabled = true
