package main

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shown returns the name of a session or of a group for a terminal: as it is or, if it has characters that do not print, quoted.
// Another node may have chosen the name, and must not send escape sequences to the terminal.
func shown(name string) string {
	if utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return name
	}
	return strconv.Quote(name)
}
