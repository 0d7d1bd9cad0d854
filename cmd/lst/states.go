package main

import (
	"strings"

	"ulnet/lnet/selftest/console"
)

// invalid are the states that Lustre's tool calls invalid: those of nodes that are not in the session.
var invalid = []console.State{console.Busy, console.Down, console.Unknown}

// statesOf returns the states that a word of Lustre's tool stands for.
func statesOf(word string) ([]console.State, bool) {
	word = strings.ToLower(word)
	if word == "invalid" {
		return invalid, true
	}
	var s console.State
	if s.UnmarshalText([]byte(word)) != nil {
		return nil, false
	}
	return []console.State{s}, true
}

// stateText returns the word of Lustre's tool for a state.
func stateText(s console.State) string {
	switch s {
	case console.Active:
		return "Active"
	case console.Busy:
		return "Busy"
	case console.Down:
		return "Down"
	}
	return "Unknown"
}
