package health

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHealthDocument: the table for operators in docs/client-health.md has a row for each reason why a
// server has no quorum, and no row for another word in backquotes, except other-times.
func TestHealthDocument(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "client-health.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(b), "<!-- operator -->\n")
	table, _, _ = strings.Cut(table, "\n\n")
	known := map[string]bool{"other-times": true} // not a reason for the lack of a quorum, but a reason why a client has no master
	for _, why := range []QuorumLack{LackGossip, LackLeft, LackParams, LackListening, LackStarting, LackUnsure, LackCutOff, LackNone} {
		known[string(why)] = true
		if !strings.Contains(table, "\n| `"+string(why)+"` | ") {
			t.Errorf("no row for %q", why)
		}
	}
	for line := range strings.Lines(table) {
		if cell, ok := strings.CutPrefix(line, "| `"); ok {
			if word, _, _ := strings.Cut(cell, "`"); !known[word] {
				t.Errorf("a row for %q, which is no reason", word)
			}
		}
	}
}
