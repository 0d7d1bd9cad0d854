package recording

import (
	"os"
	"strings"
	"testing"
)

// TestSentences: each difference that is allowed has its sentence in docs/spec/selftest.md, word
// for word.
func TestSentences(t *testing.T) {
	text, err := os.ReadFile("../../../docs/spec/selftest.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, s := range strings.Split(string(text), "\n## ")[1:] {
		number, rest, _ := strings.Cut(s, ". ")
		sections[number] = rest
	}
	quoted := func(what, section, sentence string) {
		if sentence == "" || !strings.Contains(sections[section], sentence) {
			t.Errorf("%s: section %s does not say %q", what, section, sentence)
		}
	}
	for i := range allowed {
		quoted(allowed[i].what, allowed[i].section, allowed[i].sentence)
	}
	quoted("bulk data", "7", leftovers)
}
