//go:build race

package lnetdtest

// RaceEnabled tells that tests run under the race detector, which makes
// programs slower and larger.
const RaceEnabled = true
