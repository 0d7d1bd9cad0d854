package archtest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Text is a file in which rows and sections of docs/spec may be named.
type Text struct {
	Name string // path of the file from the root, with slashes
	Body string // whole contents of the file
}

// named are the endings of file names. References are checked in the files whose names have one of them.
var named = []string{".go", ".md", ".patch", ".sim", ".txt", ".yaml", ".golden", "Makefile"}

// Texts reads the files with these endings below root.
func Texts(root string) ([]Text, error) {
	var all []Text
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != root && (base == "bin" || base == "_artifacts" || base[0] == '.') {
				return fs.SkipDir
			}
			return nil
		}
		if !slices.ContainsFunc(named, func(end string) bool { return strings.HasSuffix(base, end) }) {
			return nil
		}
		body, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		all = append(all, Text{filepath.ToSlash(rel), string(body)})
		return err
	})
	return all, err
}

// unnamed are references of former versions that must not be in a file any more, because they
// do not say what they refer to.
var unnamed = []string{"conformance list", "seed 001", "seed 002", "seed 003", "seed 004", "eference 8.3", "the reference §"}

var (
	// idStart and idEnd match the id of a row before and after its last hyphen.
	idStart = regexp.MustCompile(`(?:^|[^-\w])((?:G-)?[A-Z]{2,3})$`)
	idEnd   = regexp.MustCompile(`^-A?[0-9]+\b`)
	// sectionName matches the number of a section, and document the name of a document before it.
	sectionName = regexp.MustCompile(`§ ?([A-Z0-9][.a-z0-9]*)`)
	document    = regexp.MustCompile(`([-\w]+)(?:\.md)? $`)
	foreign     = regexp.MustCompile(`(?:\bRFC [0-9]+|\bIBTA vol\. [0-9]|\bannex A[0-9]+|\bdraft-[-\w]+) $`)
	continued   = regexp.MustCompile(`§ ?[A-Z0-9][.a-z0-9]*(?: steps? [0-9]+(?: and [0-9]+)?| from step [0-9]+ on)?(?:,| and| to|;) $`)
	// designSection matches the name of a section in one of the designs from which the rows come.
	designSection = regexp.MustCompile(`\b(gossip|collectives|membership|client health|multicast) design, ([A-Z][^,;:)|\n]*)`)
	// commentBreak matches the line breaks inside a comment.
	commentBreak = regexp.MustCompile(`\n[\t ]*// ?`)
)

// Dangling returns a line for each reference in a text to a row or section that is not in
// docs/spec.
func (s *Spec) Dangling(t Text) []string {
	var bad []string
	rows := s.ids()
	report := func(what, why string) { bad = append(bad, fmt.Sprintf("%s: %s: %s", t.Name, what, why)) }
	for _, id := range s.idsIn(t.Body) {
		if _, ok := rows[id]; !ok {
			report(id, "no such row in "+specFolder)
		}
	}
	for _, what := range unnamed {
		if strings.Contains(t.Body, what) {
			report(what, "say which file of "+specFolder)
		}
	}
	if strings.Contains(t.Body, " design,") {
		for _, d := range designSection.FindAllStringSubmatch(commentBreak.ReplaceAllString(t.Body, " "), -1) {
			if !strings.Contains(s.texts[strings.ReplaceAll(d[1], " ", "-")], strings.ToLower(strings.TrimSpace(d[2]))) {
				report(d[0], "no row in "+specFolder+" is from that section: name rows")
			}
		}
	}
	if strings.Contains(t.Body, "§") {
		own := ""
		if name, ok := strings.CutPrefix(t.Name, specFolder+"/"); ok {
			own = shortName(name)
		}
		s.danglingSections(commentBreak.ReplaceAllString(t.Body, " "), own, report)
	}
	return bad
}

// idsIn returns the words of a text that look like the id of a row: they have that form, and
// begin with the letters of one of our documents. An id within a longer word does not count.
func (s *Spec) idsIn(body string) []string {
	var ids []string
	for at := 0; ; at++ {
		next := strings.IndexByte(body[at:], '-')
		if next < 0 {
			return ids
		}
		at += next
		if at+1 == len(body) || body[at+1] != 'A' && (body[at+1] < '0' || body[at+1] > '9') {
			continue
		}
		start := idStart.FindStringSubmatch(body[max(0, at-6):at])
		if start != nil && s.families[start[1]] {
			if end := idEnd.FindString(body[at:min(len(body), at+8)]); end != "" {
				ids = append(ids, start[1]+end)
			}
		}
	}
}

// danglingSections reports references to sections that no document has. If a reference names no document, and the
// text is itself one of the specifications, the reference is to a section of this specification, whose name is the
// argument own.
func (s *Spec) danglingSections(body, own string, report func(what, why string)) {
	last := "" // the document that the previous reference named, which also counts for a list such as "lnet-wire §6.4, §6"
	for _, at := range sectionName.FindAllStringSubmatchIndex(body, -1) {
		number := strings.TrimRight(body[at[2]:at[3]], ".")
		before := body[max(0, at[0]-80):at[0]]
		switch d := document.FindStringSubmatch(before); {
		case d != nil && s.Sections[d[1]] != nil:
			last = d[1]
		case foreign.MatchString(before):
			last = ""
			continue
		case continued.MatchString(before):
		case own != "":
			last = own
		default:
			report("§"+number, "say of which document")
			continue
		}
		if last != "" && !s.Sections[last][number] {
			report(last+" §"+number, "no such section in "+specFolder)
		}
	}
}
