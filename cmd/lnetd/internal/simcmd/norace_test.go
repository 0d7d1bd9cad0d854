//go:build !race

package simcmd

const raceEnabled = false
