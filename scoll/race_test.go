//go:build race

package scoll_test

const raceEnabled = true
