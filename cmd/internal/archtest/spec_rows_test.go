package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// specFolder is the folder of the specifications, from the root.
const specFolder = "docs/spec"

// coverageFile is a document that a test generates: it lists the code, tests and mutants for
// each row.
const coverageFile = "coverage.md"

// Spec is the content of docs/spec.
type Spec struct {
	Rows []Row // rows in the order of files, and of their lines in a file
	// Sections has the numbers of headings of each file, such as "7.1" of "lnet-semantics". The
	// file README.md is "spec".
	Sections map[string]map[string]bool
	families map[string]bool   // letters of ids: "SC" and "G-GO" of SC-12 and G-GO-8
	texts    map[string]string // contents of files in lower case, by their names in Sections
}

// Row is a row of a table of docs/spec that has an id.
type Row struct {
	ID      string // id of the row, such as "GO-A7" or "G-GO-8"
	File    string // name of its file, such as "gossip.md"
	Section string // the heading above the row
	Planned string // the feature with which the row will be implemented; empty: it is implemented
	Out     bool   // the row is out of scope, or needs no test (level X)
}

// due reports whether a test must claim the row.
func (r Row) due() bool { return r.Planned == "" && !r.Out }

// goal reports whether the row is a goal, such as G-GO-8.
func (r Row) goal() bool { return strings.HasPrefix(r.ID, "G-") }

var (
	specHeading = regexp.MustCompile(`^#+ (([0-9]+(?:\.[0-9]+)*[a-z]?|C\.[0-9]+)\.?(?: |$))?(.*)`)
	specAnchor  = regexp.MustCompile(`<a id="([^"]+)"></a>`)
	specRow     = regexp.MustCompile(`^\| (?:<a id="[^"]+"></a>)+[-\w, ]*?( [MSDX])? \|`)
	specPlanned = regexp.MustCompile(`\bplanned: ([^.;|]+)`)
	specFamily  = regexp.MustCompile(`-A?[0-9]+$`)
)

// ReadSpec reads docs/spec below root.
func ReadSpec(root string) (*Spec, error) {
	s := newSpec()
	files, err := filepath.Glob(filepath.Join(root, specFolder, "*.md"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		name := filepath.Base(file)
		if name == coverageFile {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		s.read(name, string(text))
	}
	return s, nil
}

func newSpec() *Spec {
	return &Spec{Sections: map[string]map[string]bool{}, families: map[string]bool{}, texts: map[string]string{}}
}

// read adds the rows and sections of one file.
func (s *Spec) read(name, text string) {
	short := shortName(name)
	s.Sections[short], s.texts[short] = map[string]bool{}, strings.ToLower(text)
	section := ""
	for line := range strings.Lines(text) {
		if h := specHeading.FindStringSubmatch(line); h != nil {
			section = strings.TrimSpace(h[0])
			section = strings.TrimSpace(strings.TrimLeft(section, "#"))
			s.Sections[short][h[2]] = true
			continue
		}
		row := specRow.FindStringSubmatch(line)
		if row == nil {
			continue
		}
		planned := ""
		if p := specPlanned.FindStringSubmatch(line); p != nil {
			planned = p[1]
		}
		for _, anchor := range specAnchor.FindAllStringSubmatch(line, -1) {
			id := anchor[1]
			s.families[specFamily.ReplaceAllString(id, "")] = true
			s.Rows = append(s.Rows, Row{ID: id, File: name, Section: section, Planned: planned, Out: row[1] == " X"})
		}
	}
}

// shortName returns the name that references use for a file of docs/spec.
func shortName(file string) string {
	if file == "README.md" {
		return "spec"
	}
	return strings.TrimSuffix(file, ".md")
}

// ids returns the rows by their ids.
func (s *Spec) ids() map[string]Row {
	all := map[string]Row{}
	for _, r := range s.Rows {
		all[r.ID] = r
	}
	return all
}
