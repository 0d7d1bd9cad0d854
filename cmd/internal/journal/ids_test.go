package journal

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ulnet/lnd/lndtest/spec"
)

var update = flag.Bool("update", false, "write contrib/systemd/ulnet.catalog anew")

// root is the root of the repository.
const root = "../../.."

// TestIDs: one statement writes the text of each id, and no two ids are equal.
func TestIDs(t *testing.T) {
	spec.Covers(t, "OP-21")
	written := parseWriters(t)
	seen := map[string]bool{}
	for _, id := range IDs {
		if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(id.ID) || seen[id.ID] || seen[id.Text+id.Event] {
			t.Errorf("%q: an id needs 32 digits, and an event, of its own", id.Text)
		}
		seen[id.ID], seen[id.Text+id.Event] = true, true
		if at := written.texts[id.Text]; len(at) != 1 {
			t.Errorf("%q is written at %q, want one statement: give its line the id that it had", id.Text, at)
		}
		if id.Event != "" && len(written.events[id.Event]) == 0 {
			t.Errorf("no list eventNames has the event %q", id.Event)
		}
	}
}

// TestCatalog: contrib/systemd/ulnet.catalog explains all ids ('journalctl -x').
func TestCatalog(t *testing.T) {
	var b strings.Builder
	b.WriteString("# What lines of lnetd in the journal mean ('journalctl -x'), written by 'go test ./cmd/internal/journal -update'.\n")
	for _, id := range IDs {
		fmt.Fprintf(&b, "\n-- %s\nSubject: %s\nDefined-By: ulnet\n\n%s\n", id.ID, id.Title, id.Help)
	}
	file := filepath.Join(root, "contrib", "systemd", "ulnet.catalog")
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != b.String() {
		t.Errorf("%v; write it with -update", err)
	}
}
