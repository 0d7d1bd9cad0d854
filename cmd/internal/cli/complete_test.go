package cli

import (
	"strings"
	"testing"
)

// TestWordsOf: the arguments of a usage line are found among options with and without values.
func TestWordsOf(t *testing.T) {
	for use, want := range map[string]string{
		"ping [--timeout SECONDS] NID...":                       "ping --timeout NID",
		"stat [--live] [--count N] {GROUP | NIDS}...":           "stat --live --count GROUP NIDS",
		"update GROUP {--refresh | --clean STATE | --del NIDS}": "update GROUP --refresh --clean --del",
		"show [-v [LEVEL]]":                                     "show -v",
	} {
		if got := strings.Join(wordsOf(use), " "); got != want {
			t.Errorf("%s: %s, want %s", use, got, want)
		}
	}
}
