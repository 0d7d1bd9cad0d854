package archtest

import (
	"slices"
	"strings"
	"testing"
)

func readSpec(t *testing.T) *Spec {
	t.Helper()
	s, err := ReadSpec(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Rows) < 700 || len(s.Sections) < 12 {
		t.Fatalf("%s has %d rows and %d files only", specFolder, len(s.Rows), len(s.Sections))
	}
	return s
}

// TestRowsOnce: an id stands for one row.
func TestRowsOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range readSpec(t).Rows {
		if seen[r.ID] {
			t.Errorf("%s: %s is there twice", r.File, r.ID)
		}
		seen[r.ID] = true
	}
}

// TestReferences: every row and section that code, tests, mutants, scenarios and documents
// name is in docs/spec.
func TestReferences(t *testing.T) {
	texts, err := Texts(root)
	if err != nil {
		t.Fatal(err)
	}
	s := readSpec(t)
	for _, text := range texts {
		if strings.HasPrefix(text.Name, "cmd/internal/archtest/") {
			continue // examples of what dangles
		}
		for _, line := range s.Dangling(text) {
			t.Error(line)
		}
	}
}

// TestClaims: tests claim rows that exist.
func TestClaims(t *testing.T) {
	_, bad := readSpec(t).ReadClaims(load(t))
	for _, line := range bad {
		t.Error(line)
	}
}

func TestDangling(t *testing.T) {
	s := &Spec{Sections: map[string]map[string]bool{}, families: map[string]bool{}}
	s.read("gossip.md", "# Gossip\n\n## Rows\n\n| <a id=\"GO-1\"></a>GO-1 M | a | b |\n| <a id=\"GO-2\"></a>GO-2 | planned: routing. Do it. |\n| <a id=\"GO-A1\"></a>GO-A1 X | c |\n| GO-3 M | no anchor |\n")
	s.read("lnet-wire.md", "## 6. HELLO\n### 6.4 HELLO v4\n")
	s.read("README.md", "## C.5 What mutants kill\n")
	want := []Row{
		{ID: "GO-1", File: "gossip.md", Section: "Rows"},
		{ID: "GO-2", File: "gossip.md", Section: "Rows", Planned: "routing"},
		{ID: "GO-A1", File: "gossip.md", Section: "Rows", Out: true},
	}
	if !slices.Equal(s.Rows, want) {
		t.Errorf("rows %+v, want %+v", s.Rows, want)
	}
	for text, want := range map[string]string{
		"GO-1, GO-A1 and GO-2":         "",
		"GO-3":                         "GO-3",
		"G-GO-1, XGO-7, SHA-256":       "", // no rows of ours
		"lnet-wire §6.4, §6 and §7":    "lnet-wire §7",
		"lnet-wire.md §6.4 step 5, §6": "",
		"(lnet-wire\n\t// §6.4)":       "",
		"spec §C.5.":                   "",
		"§6.4":                         "§6.4",
		"RFC 8200 §5, and IBTA vol. 1 §12.9, §1.1": "",
		"lnet-wire §6. Then §6.4":                  "§6.4",
		"as seed 003 says":                         "seed 003",
		"reference 8.3":                            "eference 8.3",
	} {
		got := ""
		for _, line := range s.Dangling(Text{"a.go", text}) {
			got += strings.Split(line, ": ")[1]
		}
		if got != want {
			t.Errorf("%q: %q dangles, want %q", text, got, want)
		}
	}
}
