package health

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHealthDocument: docs/client-health.md tells what an operator does about each reason for
// which a server refuses a client, and has no other words in that place.
func TestHealthDocument(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "client-health.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(b), "<!-- operator -->\n")
	table, _, _ = strings.Cut(table, "\n\n")
	known := map[string]bool{"other-times": true} // a reason that only clients report, not about the quorum
	for _, why := range []QuorumLack{LackGossip, LackParams, LackListening, LackStarting, LackUnsure, LackCutOff, LackNone} {
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
