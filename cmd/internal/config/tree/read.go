package tree

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"ulnet/lnet/nid"
)

// Limits of a file, because its text is not trusted.
const (
	MaxSize  = 16 << 20 // largest file in bytes
	maxDepth = 64       // largest depth of nested brackets
	maxLine  = 64 << 10 // longest line in bytes; each dash in a line nests a list
	maxItems = 1 << 18  // largest number of items
	maxWarn  = 100      // largest number of warnings
)

// File is the contents of a file, in order. Lustre's lnetctl applies the items of a section
// until one fails, so the Items of a section are only those before its first error.
type File struct {
	Sections []Section   // in the order of the file
	Warnings []string    // warnings about parts that were ignored
	unknown  unknownKeys // keys without a meaning
	ignored  []*Error    // the ignored parts, from which Warnings are made
	more     int         // number of ignored parts for which the list ignored had no room
}

// Section is one key at the top of a file.
type Section struct {
	Key   string   // name of the section, such as net
	Line  int      // line of the key, from 1
	Items []Item   // in the order of the file
	Errs  []*Error // errors after the items; empty: there are none
}

// Item is a part of a section. One of its fields is set.
type Item struct {
	Line    int      // line in which the item begins, from 1
	Net     *Net     // a network, with one NI or none
	Route   *Route   // a route
	Peer    *Peer    // a peer
	Setting *Setting // a setting of the section global
	Routing *Routing // the section routing
	Buffers *Buffers // the section buffers
	UDSP    *UDSP    // a selection rule
	Target  nid.NID  // a node to ping or discover
}

// SyntaxError says that a file is not valid YAML.
type SyntaxError struct {
	Line, Column int    // line and column, counted from 1
	Text         string // what is wrong there
}

// Error returns a text in the form of libyaml.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("Scanner error: %s at line %d, column %d", e.Text, e.Line, e.Column)
}

// Unwrap returns EINVAL.
func (e *SyntaxError) Unwrap() error { return syscall.EINVAL }

// Read reads a file. The error is about the file as a whole; an error in a section is in
// File.Sections.
func Read(text []byte) (*File, error) {
	if err := checkLimits(text); err != nil {
		return nil, err
	}
	text = WithLineFeeds(text)
	f, read := new(File), (*File).readWhole
	if len(text) > wholeSize {
		read = (*File).readLong
	}
	if err := read(f, text); err != nil {
		return nil, err
	}
	f.tellIgnored()
	return f, nil
}

func (f *File) readWhole(text []byte) error {
	docs, err := parser.ParseBytes(text, 0)
	if err != nil {
		return syntaxError(err)
	}
	for _, doc := range docs.Docs {
		if err := f.document(doc.Body); err != nil {
			return err
		}
	}
	return nil
}

func (f *File) readLong(text []byte) error { return f.readPieces(pieces(text, pieceSize), wholeSize) }

// document reads the sections of a document.
func (f *File) document(body ast.Node) error {
	if isNothing(body) {
		return nil
	}
	entries, ok := entriesOf(body)
	if !ok {
		return inFile(lineOf(body), syscall.EINVAL, "invalid key '%s'", firstText(body))
	}
	for _, e := range entries {
		key, line := keyOf(e), lineOf(e.Key)
		read, known := sections[key]
		s := Section{Key: key, Line: line}
		switch {
		case !known:
			s.Errs = []*Error{inFile(line, syscall.EINVAL, "invalid key '%s'", key)}
		case !isNothing(e.Value):
			if err := checkNode(e.Value, 0); err != nil {
				return err
			}
			f.noteUnknown(key, e.Value)
			read(f, &s, e.Value)
		}
		f.Sections = append(f.Sections, s)
	}
	return nil
}

// checkItems refuses a file of too many items.
func (f *File) checkItems() error {
	n := 0
	for _, s := range f.Sections {
		n += len(s.Items)
		if n > maxItems {
			return inFile(s.Line, syscall.EFBIG, "more than %d items", maxItems)
		}
	}
	return nil
}

// warn adds a warning that something was read and ignored.
func (f *File) warn(line int, text string) {
	if len(f.ignored) < maxWarn {
		f.ignored = append(f.ignored, inFile(line, syscall.EINVAL, "%s", text))
	} else {
		f.more++
	}
}

// tellIgnored makes warnings of the parts that were ignored.
func (f *File) tellIgnored() {
	for _, k := range f.unknown.list {
		f.Warnings = append(f.Warnings, k.warning())
	}
	for _, e := range f.ignored {
		f.Warnings = append(f.Warnings, e.Error())
	}
	if more := f.more + f.unknown.more; more > 0 {
		f.Warnings = append(f.Warnings, fmt.Sprintf("and %d more", more))
	}
}

// checkLimits refuses files that would take too much memory, or too deep a stack.
func checkLimits(text []byte) error {
	if len(text) > MaxSize {
		return inFile(0, syscall.EFBIG, "more than %d MiB", MaxSize>>20)
	}
	line, begin, depth := 1, 0, 0
	for i, c := range text {
		switch c {
		case '\n':
			line, begin = line+1, i+1
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(depth-1, 0)
		}
		if depth > maxDepth {
			return inFile(line, syscall.EINVAL, "more than %d brackets inside of each other", maxDepth)
		}
		if i-begin >= maxLine {
			return inFile(line, syscall.EINVAL, "more than %d bytes in a line", maxLine)
		}
	}
	return nil
}

func syntaxError(err error) error {
	e := &SyntaxError{Line: 1, Column: 1, Text: shown(err.Error())}
	if y, ok := errors.AsType[yaml.Error](err); ok {
		e.Text = shown(y.GetMessage())
		if t := y.GetToken(); t != nil && t.Position != nil {
			e.Line, e.Column = t.Position.Line, t.Position.Column
		}
	}
	return e
}
