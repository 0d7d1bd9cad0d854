//go:build !race

package zonesim_test

const raceEnabled = false
