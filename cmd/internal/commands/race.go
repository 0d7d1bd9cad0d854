//go:build race

package commands

// raceEnabled says whether the race detector watches.
const raceEnabled = true
