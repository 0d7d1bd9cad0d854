package tree

import (
	"bytes"
	"strings"
	"syscall"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
)

// The parser needs a hundred times the memory of a text, so long texts are read in pieces.
const (
	wholeSize = 1 << 20   // longest text that is parsed as a whole, in bytes
	pieceSize = 256 << 10 // from this length in bytes on, a piece ends before the next item of its list
)

// A piece is a part of a document: a top-level key with some items of its list, or with all that
// is below the key.
type piece struct {
	head     string // line of the key, with its line end; empty: the piece is before all keys
	headLine int    // number of that line, from 1
	body     []byte // lines below the key
	bodyLine int    // number of the first of these lines
	document int    // number of the document in the file
	goesOn   bool   // the previous piece has the same key
}

// parse parses a piece with a key. Tokens have the positions that they have in the file.
func (p *piece) parse() (*ast.File, error) {
	tokens := lexer.Tokenize(p.head + string(p.body))
	for _, t := range tokens {
		switch {
		case t.Position == nil:
		case t.Position.Line == 1:
			t.Position.Line = p.headLine
		default:
			t.Position.Line += p.bodyLine - 2
		}
	}
	return parser.Parse(tokens, 0)
}

// Values of splitter.indent in place of a column.
const (
	noList        = -1 // the value of the key is not a list that can be read item by item
	unknownIndent = -2 // only blank lines and comments have followed the key so far
)

// pieces splits a text into pieces that are not much longer than size, provided that no item of
// a list is much longer. All lines of the text end with a line feed.
//
// A piece ends before a line that begins an item of the top-level list: a line with a dash in
// the same column as the first dash. Such a line cannot continue the previous item, because in
// YAML the lines of an item are indented further.
func pieces(text []byte, size int) []piece {
	s := splitter{now: piece{headLine: 1, bodyLine: 1}, indent: noList}
	at := 0
	for line := range bytes.Lines(text) {
		s.line++
		s.take(line, at, text, size)
		at += len(line)
	}
	s.end(text, at)
	return s.list
}

// WithLineFeeds returns the text with a line feed at the end of each line. In YAML a carriage return ends a line, too,
// but the parser counts a carriage return and the line feed behind it as two lines.
func WithLineFeeds(text []byte) []byte {
	if bytes.IndexByte(text, '\r') < 0 {
		return text
	}
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	return bytes.ReplaceAll(text, []byte("\r"), []byte("\n"))
}

// splitter splits a text into pieces.
type splitter struct {
	list   []piece
	now    piece // the piece that has begun
	begin  int   // offset of its body in the text
	line   int   // number of the line that the method take processes, from 1
	indent int   // column at which the items of the piece's list begin; or one of the values noList and unknownIndent
}

// take processes a line, which begins at an offset of the text.
func (s *splitter) take(line []byte, at int, text []byte, size int) {
	switch column := dash(line); {
	case isMarker(line):
		s.end(text, at)
		s.now = piece{headLine: s.line, bodyLine: s.line, document: s.now.document + 1}
		s.indent = noList
	case isKey(line):
		s.end(text, at)
		s.now = piece{head: string(line), headLine: s.line, bodyLine: s.line + 1, document: s.now.document}
		s.begin, s.indent = at+len(line), noList
		if opensList(s.now.head) {
			s.indent = unknownIndent
		}
	case isBlank(line):
	case s.indent == unknownIndent: // the first line below the key that is not blank
		s.indent = column
	case s.indent >= 0 && column == s.indent && at-s.begin >= size:
		s.end(text, at)
		s.now.bodyLine, s.now.goesOn = s.line, true
	}
}

// end ends the present piece at an offset of the text.
func (s *splitter) end(text []byte, at int) {
	s.now.body = text[s.begin:at]
	if s.now.head != "" || len(s.now.body) > 0 {
		s.list = append(s.list, s.now)
	}
	s.begin = at
}

// checkEmpty refuses anything before the first key, except comments and the marker that begins a
// document.
func (p *piece) checkEmpty() error {
	line := p.bodyLine
	for text := range bytes.Lines(p.body) {
		if isMarker(text) {
			text = text[min(len(text), 3):]
		}
		if text = bytes.TrimSpace(text); len(text) > 0 && text[0] != '#' {
			return inFile(line, syscall.EINVAL, "Malformed input. Expect a key found '%s'", text)
		}
		line++
	}
	return nil
}

// isMarker reports whether a line begins or ends a document.
func isMarker(line []byte) bool {
	return bytes.HasPrefix(line, []byte("---")) || bytes.HasPrefix(line, []byte("..."))
}

// isBlank reports whether a line is empty except for blanks and a comment.
func isBlank(line []byte) bool {
	line = bytes.TrimLeft(line, " \t\r\n")
	return len(line) == 0 || line[0] == '#'
}

// isKey reports whether a line begins in the first column, with something else than a dash or a
// comment.
func isKey(line []byte) bool {
	return len(line) > 0 && !bytes.ContainsAny(line[:1], " \t\r\n#") && dash(line) < 0
}

// opensList reports whether head is the line of a key below which a list can be read item by
// item. After such a key the line has nothing, or a comment.
func opensList(head string) bool {
	name, value, _ := strings.Cut(head, ":")
	value = strings.TrimSpace(value)
	switch name {
	case "net", "route", "peer", "udsp", "ping", "discover":
		return value == "" || value[0] == '#'
	}
	return false
}

// dash returns the column of the dash if the line begins an item of a list, or -1.
func dash(line []byte) int {
	column := len(line) - len(bytes.TrimLeft(line, " "))
	rest := line[column:]
	if len(rest) == 0 || rest[0] != '-' || len(rest) > 1 && !bytes.ContainsAny(rest[1:2], " \t\r\n") {
		return -1
	}
	return column
}

// readPieces reads a file in pieces, none of which may be longer than largest.
func (f *File) readPieces(list []piece, largest int) error {
	seen := make(map[string]int) // line of each key in the document
	for i := range list {
		p := &list[i]
		if i > 0 && p.document != list[i-1].document {
			clear(seen)
		}
		if len(p.head)+len(p.body) > largest {
			return inFile(p.headLine, syscall.EFBIG, "more than %d KiB in one item, or in what is no list", largest>>10)
		}
		if p.head == "" {
			if err := p.checkEmpty(); err != nil {
				return err
			}
			continue
		}
		docs, err := p.parse()
		if err != nil {
			return syntaxError(err)
		}
		if err := f.piece(docs, p, seen); err != nil {
			return err
		}
	}
	return nil
}

// piece reads a piece. If it continues the section of the previous piece, its items are added to
// that section. After the first error of a section, no more of its items are read.
func (f *File) piece(docs *ast.File, p *piece, seen map[string]int) error {
	now := new(File)
	for _, doc := range docs.Docs {
		if err := now.document(doc.Body); err != nil {
			return err
		}
	}
	f.unknown.join(now.unknown)
	last := len(f.Sections) - 1
	if p.goesOn && last >= 0 && len(f.Sections[last].Errs) > 0 {
		return nil
	}
	for _, e := range now.ignored {
		f.warn(e.Line, e.Text)
	}
	f.more += now.more
	for i, s := range now.Sections {
		line, again := seen[s.Key]
		switch {
		case again && p.goesOn && i == 0 && last >= 0:
			to := &f.Sections[last]
			to.Items, to.Errs = append(to.Items, s.Items...), append(to.Errs, s.Errs...)
		case again:
			return inFile(s.Line, syscall.EINVAL, "the key '%s' is in line %d already", s.Key, line)
		default:
			seen[s.Key] = s.Line
			f.Sections = append(f.Sections, s)
		}
	}
	return f.checkItems()
}
