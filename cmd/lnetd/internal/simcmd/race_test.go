//go:build race

package simcmd

// raceEnabled shortens sweeps: their runs are the business of the packages they simulate.
const raceEnabled = true
