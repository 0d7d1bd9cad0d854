package scenario

import (
	"bytes"
	"slices"
	"strings"
	"time"
)

// Bounds of a scenario file, in bytes if not said otherwise.
const (
	maxText = 1 << 20
	maxLine = 1 << 16
	maxAny  = 5000 // largest N in "any N of" a set: the numbers of the drawn nodes have to fit into one line
	// MaxNodes is the largest number of nodes that a scenario can have.
	MaxNodes = 1 << 22
)

// File is a scenario that has been parsed.
type File struct {
	Name     string        // name of the file, as given to Parse
	Protocol *Protocol     // protocol that the first line names
	Nodes    int           // number of nodes
	Seed     uint64        // seed of all random numbers
	Length   time.Duration // length of the run in virtual time
	Options  Values        // values of the protocol's options, with defaults

	lines    []line
	settings settings
}

// line is one line of a file: at most one of setting, fault and check is set,
// none for a comment or an empty line.
type line struct {
	number  int
	setting string // a setting in its usual form
	fault   *fault
	check   *check
	comment string // comment, with the leading #
}

// text returns the line in its usual form.
func (l *line) text() string {
	text := l.setting
	switch {
	case l.fault != nil:
		text = l.fault.String()
	case l.check != nil:
		text = l.check.String()
	}
	if text != "" && l.comment != "" {
		text += "  "
	}
	return text + l.comment
}

// Format returns the file in its usual form: one blank between words, times
// and numbers written in one way, no empty lines in a row. Comments stay.
func (f *File) Format() []byte {
	var b bytes.Buffer
	empty := 0
	for i := range f.lines {
		text := f.lines[i].text()
		if text == "" {
			empty++
			continue
		}
		if empty > 0 && b.Len() > 0 {
			b.WriteByte('\n')
		}
		empty = 0
		b.WriteString(text)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// faults returns the lines that have a fault.
func (f *File) faults() []*line { return f.which(func(l *line) bool { return l.fault != nil }) }

// checks returns the lines that have a check.
func (f *File) checks() []*line { return f.which(func(l *line) bool { return l.check != nil }) }

func (f *File) which(is func(*line) bool) (list []*line) {
	for i := range f.lines {
		if is(&f.lines[i]) {
			list = append(list, &f.lines[i])
		}
	}
	return list
}

// Faults returns how many statements of the file do something to the network.
func (f *File) Faults() int { return len(f.faults()) }

// join joins the parts of a statement that are not empty.
func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(parts), func(p string) bool { return p == "" }), " ")
}

// texts returns the text of each element of a list.
func texts[T any](list []T, text func(T) string) []string {
	all := make([]string, len(list))
	for i, one := range list {
		all[i] = text(one)
	}
	return all
}
