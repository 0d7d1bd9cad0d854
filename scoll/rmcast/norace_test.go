//go:build !race

package rmcast

const raceEnabled = false
