//go:build race

package gossipsim

// RaceEnabled is true under the race detector.
const RaceEnabled = true
