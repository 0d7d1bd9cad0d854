//go:build race

package portals_test

const raceEnabled = true
