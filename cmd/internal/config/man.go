package config

import (
	"strings"

	"ulnet/cmd/internal/cli"
)

// manPreface begins the manual page of the configuration file.
const manPreface = `.TH "LNETD.YAML" "5" "" "ulnet" ""
.SH NAME
lnetd.yaml \- configuration of lnetd(8)
.SH SYNOPSIS
\fBlnetd \-\-config\fP \fIFILE\fP
.SH DESCRIPTION
A file in YAML. Each key below stands with its default; without a line for it a key has that
value. Keys of a section stand below the key of the section, two blanks further in. The file is
strict: an unknown key, a value out of range and a second value for the same thing are errors,
which name the line. 'lnetctl config check FILE' finds them, 'lnetd config' prints this reference
as a file, and 'lnetctl config show' prints what counts in a running daemon, and why.
`

const manEnd = `.SH SEE ALSO
\fBlnetd(8)\fP, \fBlnetd\-config(8)\fP, \fBlnetctl\-config\-check(8)\fP, \fBlnetctl\-config\-show(8)\fP
`

// ManPage returns the reference as the manual page lnetd.yaml(5).
func ManPage() string { return manPage(Reference()) }

// manPage makes a manual page of a reference: each title becomes a section, each key a paragraph
// with the text of the comment above it. Several keys without a comment between them share one.
func manPage(reference string) string {
	p := page{}
	p.out.WriteString(manPreface)
	for line := range strings.Lines(reference) {
		p.line(strings.TrimSuffix(line, "\n"))
	}
	p.flush()
	p.out.WriteString(manEnd)
	return p.out.String()
}

// page is a manual page that is being made.
type page struct {
	out     strings.Builder
	comment []string // lines of the comment that is not written yet
	keys    []string // keys after that comment, with their values
	section []string // keys of the sections that the lines are in, the outermost first
}

// line takes the next line of the reference.
func (p *page) line(line string) {
	text := strings.TrimLeft(line, " ")
	depth := (len(line) - len(text)) / 2
	switch title, isTitle := strings.CutPrefix(line, "# --- "); {
	case isTitle:
		p.flush()
		p.out.WriteString(".SH " + cli.Roff(strings.ToUpper(strings.TrimRight(title, "- "))) + "\n")
	case text == "":
		p.flush()
	case strings.HasPrefix(text, "#"):
		if len(p.keys) > 0 {
			p.flush()
		}
		p.comment = append(p.comment, strings.TrimPrefix(strings.TrimPrefix(text, "#"), " "))
	default:
		p.key(text, depth)
	}
}

// key takes a line with a key. The depth is the number of sections around the key. A key without a
// value begins a section.
func (p *page) key(text string, depth int) {
	if depth < len(p.section) {
		p.flush()
		p.section = p.section[:depth]
	}
	name, value, _ := strings.Cut(text, ":")
	p.keys = append(p.keys, strings.Join(append(p.section, name), ".")+":"+value)
	if value == "" {
		p.flush()
		p.section = append(p.section, name)
	}
}

// flush writes the keys that are not written yet, with their comment. A comment without keys becomes a
// paragraph of its own.
func (p *page) flush() {
	for i, key := range p.keys {
		tag := ".TP\n"
		if i > 0 {
			tag = ".TQ\n"
		}
		p.out.WriteString(tag + "\\fB" + cli.Roff(key) + "\\fP\n")
	}
	if len(p.keys) == 0 && len(p.comment) > 0 {
		p.out.WriteString(".PP\n")
	}
	p.text()
	p.comment, p.keys = nil, nil
}

// text writes the lines of the comment. Indented lines, which are examples or tables, keep their form.
// So do all lines after an empty one that follows the words "For example" or "or example".
func (p *page) text() {
	fixed, example := false, false
	for i, line := range p.comment {
		example = example || line == "" && i > 0 && strings.HasSuffix(p.comment[i-1], "or example")
		if keep := example || strings.HasPrefix(line, "  "); keep != fixed {
			fixed = keep
			p.out.WriteString(map[bool]string{true: ".nf\n", false: ".fi\n"}[keep])
		}
		if line != "" {
			p.out.WriteString(cli.Roff(line))
		}
		p.out.WriteString("\n")
	}
	if fixed {
		p.out.WriteString(".fi\n")
	}
}
