package journal

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write contrib/systemd/ulnet.catalog anew")

// root is the root of the repository.
const root = "../../.."

// TestIDs: the source has the text of each id, and no two ids are equal.
func TestIDs(t *testing.T) {
	source := sources(t)
	seen := map[string]bool{}
	for _, id := range IDs {
		if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(id.ID) || seen[id.ID] || seen[id.Text+id.Event] {
			t.Errorf("%q: an id needs 32 digits, and an event, of its own", id.Text)
		}
		seen[id.ID], seen[id.Text+id.Event] = true, true
		if !strings.Contains(source, fmt.Sprintf("%q", id.Text)) {
			t.Errorf("no code writes %q: give its line the id that it had", id.Text)
		}
		if id.Event != "" && !strings.Contains(source, fmt.Sprintf("%q", id.Event)) {
			t.Errorf("no code has the event %q", id.Event)
		}
	}
}

// sources returns the code of the repository, without tests and this package.
func sources(t *testing.T) string {
	t.Helper()
	var all bytes.Buffer
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "journal" || d.Name() == "testdata" || d.Name() == "bench" || d.Name() == ".git"):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
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
