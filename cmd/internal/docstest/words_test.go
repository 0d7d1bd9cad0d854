package docstest

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"ulnet/cmd/internal/archtest"
)

// verbatim is what a document quotes: code in a line, and the targets of links.
var verbatim = regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)|<[^>]*>")

// unjudged are documents whose words are not checked: changes as they were announced, references, and
// what programs of earlier versions wrote.
var unjudged = []string{"CHANGELOG.md", "docs/spec/", "docs/performance.md"}

// TestWords: documents say what comments may say too.
func TestWords(t *testing.T) {
	for _, d := range documents(t) {
		if slices.ContainsFunc(unjudged, func(name string) bool { return strings.HasPrefix(d.name, name) }) {
			continue
		}
		inside := false
		for i, line := range strings.Split(d.text, "\n") {
			if strings.HasPrefix(strings.TrimLeft(line, " "), "```") {
				inside = !inside
				continue
			}
			if inside {
				continue
			}
			for _, bad := range archtest.Prose(verbatim.ReplaceAllString(line, "`")) {
				t.Errorf("%s:%d: %s", d.name, i+1, bad)
			}
		}
	}
}
