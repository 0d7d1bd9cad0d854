package archtest

import (
	"os"
	"strings"
	"testing"
)

// notYet are the folders whose words and fields are not judged so far.
const notYet = "" +
	"cmd/internal/docstest "

// judged returns the packages that a test of words looks at: all that are not in notYet,
// or those of the environment variable ULNET_WORDS, folders as "lnd/readloop lnet/...".
func judged(t *testing.T) []*Package {
	t.Helper()
	pkgs := load(t)
	only := os.Getenv("ULNET_WORDS")
	var list []*Package
	for _, p := range pkgs {
		if only != "" && match(only, p.Path) || only == "" && !match(notYet, p.Path) {
			list = append(list, p)
		}
	}
	return list
}

func TestWords(t *testing.T) {
	for _, p := range judged(t) {
		for _, bad := range Words(p) {
			t.Error(bad)
		}
	}
}

func TestFields(t *testing.T) {
	for _, p := range judged(t) {
		for _, bad := range Fields(p) {
			t.Error(bad)
		}
	}
}

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
