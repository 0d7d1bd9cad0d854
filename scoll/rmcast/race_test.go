//go:build race

package rmcast

const raceEnabled = true
