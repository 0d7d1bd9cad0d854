//go:build race

package main

// raceEnabled leaves goals out.
const raceEnabled = true
