package config_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/config"
	"ulnet/lnd/lndtest/spec"
)

var update = flag.Bool("update", false, "write the list of keys in docs/install.md anew")

// TestRestartKeys: docs/install.md lists the keys whose changes need a restart of the daemon. The flag
// -update rewrites the list.
func TestRestartKeys(t *testing.T) {
	spec.Covers(t, "OP-8")
	document := filepath.Join("..", "..", "..", "docs", "install.md")
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	const mark = "<!-- restart -->\n"
	before, rest, _ := strings.Cut(string(text), mark)
	list, after, found := strings.Cut(rest, "\n\n")
	want := "`" + strings.Join(config.RestartKeys(), "`, `") + "`."
	switch {
	case !found:
		t.Fatalf("docs/install.md has no list below %s", mark)
	case *update:
		if err := os.WriteFile(document, []byte(before+mark+wrapped(want)+"\n\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
	case strings.ReplaceAll(list, "\n", " ") != want:
		t.Errorf("docs/install.md does not list the keys that need a restart; go test ./cmd/internal/config -run TestRestartKeys -update writes them (-want +got):\n%s",
			cmp.Diff(strings.Fields(want), strings.Fields(list)))
	}
}

// wrapped breaks a text into lines of up to 160 characters.
func wrapped(text string) string {
	var b strings.Builder
	line := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case line+1+len(word) > 160:
			b.WriteString("\n")
			line = 0
		default:
			b.WriteString(" ")
			line++
		}
		b.WriteString(word)
		line += len(word)
	}
	return b.String()
}
