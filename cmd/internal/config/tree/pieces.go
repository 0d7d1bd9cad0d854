package tree

import (
	"bytes"
	"strings"
	"syscall"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
)

// The parser takes a hundred times the memory of a text, so a long one is read in pieces.
const (
	wholeSize = 1 << 20   // longest text that is parsed as a whole, in bytes
	pieceSize = 256 << 10 // length in bytes from which on a piece ends at the next item of its list
)

// A piece is a part of a document: a key at its top with items of its list, or everything below
// another key.
type piece struct {
	head     string // line of the key, with its end; empty: in front of all keys
	headLine int    // number of that line, from 1
	body     []byte // lines below the key
	bodyLine int    // number of the first of these lines
	document int    // number of the document in the file
	goesOn   bool   // a piece before has the same key
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

// What pieces knows of the dashes of a list in place of their column.
const (
	noList        = -1 // there are none
	unknownIndent = -2 // no line has come that can have one
)

// pieces splits a text. Its pieces are not much longer than size where lists have items no longer
// than that.
//
// A piece ends in front of a line that begins an item of the list at the top, which is a dash as far
// to the right as the first one. No value of an item goes on in such a line, as YAML wants its lines
// farther to the right.
func pieces(text []byte, size int) (list []piece) {
	now := piece{headLine: 1, bodyLine: 1}
	indent, begin := unknownIndent, 0
	end := func(at int) {
		now.body = text[begin:at]
		if now.head != "" || len(now.body) > 0 {
			list = append(list, now)
		}
		begin = at
	}
	for at, line := 0, 1; at < len(text); line++ {
		next := len(text)
		if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
			next = at + n + 1
		}
		this := text[at:next]
		switch column := dash(this); {
		case isMarker(this):
			end(at)
			now = piece{headLine: line, bodyLine: line, document: now.document + 1}
			indent = noList
		case isKey(this):
			end(at)
			now = piece{head: string(this), headLine: line, bodyLine: line + 1, document: now.document}
			indent, begin = unknownIndent, next
			if !opensList(now.head) {
				indent = noList
			}
		case isBlank(this):
		case indent == unknownIndent: // the first line below the key
			indent = column
		case indent >= 0 && column == indent && at-begin >= size:
			end(at)
			now.bodyLine, now.goesOn = line, true
		}
		at = next
	}
	end(len(text))
	return list
}

// checkEmpty refuses what stands in front of the first key, but for comments and the begin of a document.
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

// isBlank reports whether a line has nothing but blanks, or a comment.
func isBlank(line []byte) bool {
	line = bytes.TrimLeft(line, " \t\r\n")
	return len(line) == 0 || line[0] == '#'
}

// isKey reports whether a line begins at the left and with something else than a dash or a comment.
func isKey(line []byte) bool {
	return len(line) > 0 && !bytes.ContainsAny(line[:1], " \t\r\n#") && dash(line) < 0
}

// opensList reports whether a list is below a key whose items are read one by one: nothing but a
// comment stands behind such a key.
func opensList(head string) bool {
	name, value, _ := strings.Cut(head, ":")
	value = strings.TrimSpace(value)
	switch name {
	case "net", "route", "peer", "udsp", "ping", "discover":
		return value == "" || value[0] == '#'
	}
	return false
}

// dash returns the column of a dash that begins an item of a list; -1: the line begins none.
func dash(line []byte) int {
	column := len(line) - len(bytes.TrimLeft(line, " "))
	rest := line[column:]
	if len(rest) == 0 || rest[0] != '-' || len(rest) > 1 && !bytes.ContainsAny(rest[1:2], " \t\r\n") {
		return -1
	}
	return column
}

// readPieces reads a file in pieces. largest bounds each.
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

// piece reads a piece, and joins its items with those of the piece before that it continues. A section
// has no items behind its first error.
func (f *File) piece(docs *ast.File, p *piece, seen map[string]int) error {
	now := new(File)
	for _, doc := range docs.Docs {
		if err := now.document(doc.Body); err != nil {
			return err
		}
	}
	if f.unknown == nil {
		f.unknown = now.unknown
	}
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
