//go:build race

package portals

// RaceEnabled is true under the race detector.
const RaceEnabled = true
