package archtest

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// verbatim matches the parts of a line that are not prose: quoted code, and the targets of
// links.
var verbatim = regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)|<[^>]*>")

// unjudged are documents whose words are not checked: announced changes, references, and the
// output of earlier versions of programs.
var unjudged = []string{"CHANGELOG.md", "docs/spec/", "docs/performance.md"}

// TestWordsOfDocuments: the words and phrases that are forbidden in comments are in no document
// either.
func TestWordsOfDocuments(t *testing.T) {
	texts, err := Texts(root)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, d := range texts {
		if !strings.HasSuffix(d.Name, ".md") || strings.Contains(d.Name, "testdata/") ||
			slices.ContainsFunc(unjudged, func(name string) bool { return strings.HasPrefix(d.Name, name) }) {
			continue
		}
		count++
		inside := false
		for i, line := range strings.Split(d.Body, "\n") {
			if strings.HasPrefix(strings.TrimLeft(line, " "), "```") {
				inside = !inside
				continue
			}
			if inside {
				continue
			}
			for _, bad := range Prose(verbatim.ReplaceAllString(line, "`")) {
				t.Errorf("%s:%d: %s", d.Name, i+1, bad)
			}
		}
	}
	if count < 10 {
		t.Errorf("%d documents were found", count)
	}
}
