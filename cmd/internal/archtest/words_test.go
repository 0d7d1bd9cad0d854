package archtest

import (
	"strings"
	"testing"
)

// TestWords: identifiers and comments, in tests as well, contain no private word.
func TestWords(t *testing.T) {
	for _, p := range load(t) {
		for _, bad := range Words(p) {
			t.Error(bad)
		}
	}
}

// TestFields: each exported field of an exported struct has a comment.
func TestFields(t *testing.T) {
	for _, p := range load(t) {
		for _, bad := range Fields(p) {
			t.Error(bad)
		}
	}
}

// TestProse: Prose reports the forbidden words and phrases, and no others.
func TestProse(t *testing.T) {
	for line, want := range map[string]string{
		"the grave of a client":             `"grave": say tombstone`,
		"to who waits":                      `"who" follows people alone: the node that, the goroutine that`,
		"users who look at it":              "",
		"compared with the ground truth":    "",
		"the truth about it":                "ground truth",
		"its lifetime":                      "",
		"He retries":                        `"He": say it, or the program`,
		"one KID and two":                   `"KID": say child`,
		"a thesis of engraved brakes":       `"brakes": say rate limits`,
		"the operator who asks may be told": "",
	} {
		if got := strings.Join(Prose(line), "; "); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	if got := strings.Join(parts("maxPlaceOfKIDs_x"), " "); got != "max place of ki ds x" && got != "max place of kids x" {
		t.Error(got)
	}
}
