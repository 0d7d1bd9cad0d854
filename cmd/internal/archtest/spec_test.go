package archtest

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// textsOnce reads the tree for all tests.
var textsOnce = sync.OnceValues(func() ([]Text, error) { return Texts(root) })

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

// TestRowsOnce: an id belongs to one row only.
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
	texts, err := textsOnce()
	if err != nil {
		t.Fatal(err)
	}
	s := readSpec(t)
	for _, text := range texts {
		if strings.HasPrefix(text.Name, "cmd/internal/archtest/") {
			continue // the files of this package contain examples of wrong references
		}
		for _, line := range s.Dangling(text) {
			t.Error(line)
		}
	}
}

// TestClaims: tests claim only rows that exist, and every row that is implemented has a test
// that claims it.
func TestClaims(t *testing.T) {
	c, bad := cover(t)
	for _, line := range append(bad, c.Unclaimed()...) {
		t.Error(line)
	}
}

// cover returns which files name or claim each row, and which claims are wrong.
func cover(t *testing.T) (*Coverage, []string) {
	t.Helper()
	texts, err := textsOnce()
	if err != nil {
		t.Fatal(err)
	}
	s := readSpec(t)
	claims, bad := s.ReadClaims(load(t))
	return s.Cover(texts, load(t), claims), bad
}

// unbroken lists the sections without a mutant that breaks a row, each with the reason.
var unbroken = map[string]string{
	"goals.md: 0 Message path (LNet over TCP), ratios to a plain Go TCP program with the same payload in the same run": "ratios of times: make bench",
	"goals.md: Simulation":                                     "rates: make bench",
	"goals.md: 6 o2ib over software RoCE":                      "ratios of times: make bench",
	"goals.md: 7 Paths: multi-rail, health, routing":           "ratios of rates and times: make bench",
	"goals.md: 10 Speed with many messages, callers and cores": "ratios of rates and times: make bench",
}

// TestMutantsOfSections: for each section with rows there is a mutant that breaks one of them,
// which shows that the tests of that section can fail.
func TestMutantsOfSections(t *testing.T) {
	c, _ := cover(t)
	left := maps.Clone(unbroken)
	for _, section := range c.Unbroken() {
		if left[section] == "" {
			t.Errorf("%s/%s: no mutant breaks a row of it", specFolder, section)
		}
		delete(left, section)
	}
	for section := range left {
		t.Errorf("%q has a mutant, or does not exist", section)
	}
}

// TestUnclaimed: each row that is implemented needs a test, and each section a mutant.
func TestUnclaimed(t *testing.T) {
	s := newSpec()
	s.read("gossip.md", "## One\n| <a id=\"GO-1\"></a>GO-1 M | a |\n| <a id=\"GO-2\"></a>GO-2 D | planned: routing. |\n| <a id=\"GO-3\"></a>GO-3 X | b |\n"+
		"## Two\n| <a id=\"GO-4\"></a>GO-4 M | c |\n| <a id=\"G-GO-1\"></a>G-GO-1 | d |\n")
	c := s.Cover([]Text{
		{"gossip/a.go", "// GO-1, GO-1"},
		{"gossip/b.go", "// GO-1"},
		{"cmd/c.go", "// GO-1"},
		{"gossip/a_test.go", "// GO-4"}, // a comment that names the row without claiming it
		{"gossip/testdata/mutants/m.patch", "GO-1: less\n--- a.go\n-GO-4\n"},
	}, nil, Claims{"GO-1": {"gossip.TestB", "gossip.TestA"}})
	c.bounds["G-GO-1"] = true
	if got, want := strings.Join(c.Unclaimed(), ""), "docs/spec/gossip.md: GO-4: no test claims it by spec.Covers"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := strings.Join(c.Unbroken(), ""), "gossip.md: Two"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, line := range []string{
		"| [GO-1](gossip.md#GO-1) | cmd: c; gossip: a b | gossip: TestA TestB | gossip: m |",
		"| [GO-2](gossip.md#GO-2) |  | planned: routing |  |",
		"| [GO-3](gossip.md#GO-3) |  | out of scope |  |",
		"| [G-GO-1](gossip.md#G-GO-1) |  | `make bench GOAL=G-GO-1` |  |",
	} {
		if !strings.Contains(c.Table(), line+"\n") {
			t.Errorf("the table lacks %q:\n%s", line, c.Table())
		}
	}
}

// TestReadClaims: claims are calls of spec.Covers with string literals in tests.
func TestReadClaims(t *testing.T) {
	dir := t.TempDir()
	from := "package a\nimport \"" + Module + "/" + claimPackage + "\"\n"
	for name, source := range map[string]string{
		"go.mod":    "module " + Module + "\n",
		"a_test.go": from + "func TestA(t T) { spec.Covers(t, \"GO-1\", \"GO-9\", x) }\n// GO-2\nfunc TestB(t T) { spec.Covers(t, \"GO-1\") }\n",
		"a.go":      from + "func f(t T) { spec.Covers(t, \"GO-2\") }\n",
		"b_test.go": "package a\nfunc TestC(t T) { spec.Covers(t, \"GO-2\") }\n", // the call is to another package named spec
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(source), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pkgs, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := newSpec()
	s.read("gossip.md", "| <a id=\"GO-1\"></a>GO-1 M | a |\n| <a id=\"GO-2\"></a>GO-2 D | b |\n")
	claims, bad := s.ReadClaims(pkgs)
	if got := strings.Join(claims["GO-1"], " "); got != "..TestA ..TestB" {
		t.Errorf("GO-1 is claimed by %q", got)
	}
	if got := strings.Join(claims["GO-2"], " "); got != "" {
		t.Errorf("GO-2 is claimed by %q", got)
	}
	if len(bad) != 3 {
		t.Errorf("%d wrong claims, want those of a program, of GO-9 and of x:\n%s", len(bad), strings.Join(bad, "\n"))
	}
}

func TestDangling(t *testing.T) {
	s := newSpec()
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
	if got := s.Dangling(Text{"docs/spec/lnet-wire.md", "see §6.4 and 7, §6.5"}); len(got) != 1 || !strings.Contains(got[0], "lnet-wire §6.5") {
		t.Errorf("in a specification %q dangles, want §6.5 of it", got)
	}
	for text, want := range map[string]string{
		"GO-1, GO-A1 and GO-2":         "",
		"GO-3":                         "GO-3",
		"G-GO-1, XGO-7, SHA-256":       "", // these look like ids, but no row has them
		"lnet-wire §6.4, §6 and §7":    "lnet-wire §7",
		"lnet-wire.md §6.4 step 5, §6": "",
		"(lnet-wire\n\t// §6.4)":       "",
		"spec §C.5.":                   "",
		"§6.4":                         "§6.4",
		"RFC 8200 §5, and IBTA vol. 1 §12.9, §1.1":    "",
		"lnet-wire §6. Then §6.4":                     "§6.4",
		"lnet-wire §6, and §9":                        "§9",
		"(gossip design, Rows)":                       "",
		"(gossip design,\n// no such section: or so)": "", // the text after the comma is no section's name
		"(gossip design, State Exchange)":             "gossip design, State Exchange",
		"as seed 003 says":                            "seed 003",
		"reference 8.3":                               "eference 8.3",
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
