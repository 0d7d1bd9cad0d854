package config

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/goccy/go-yaml/ast"

	gossipwire "ulnet/gossip/wire"
	"ulnet/lnet/nid"
)

// MaxNIDsSize bounds a file of NIDs in bytes.
const MaxNIDsSize = 64 << 20

// LoadNIDs reads a file of NIDs, see ParseNIDs.
func LoadNIDs(path string) ([]nid.NID, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ParseNIDs(path, f)
}

// ParseNIDs reads NIDs and expressions for ranges of NIDs (nid.ParseSet). Blanks and line ends
// separate them, and # begins a comment. No NID may occur twice. An error in the text is an
// *Error, with name as the name of the file.
func ParseNIDs(name string, r io.Reader) ([]nid.NID, error) {
	n := newNIDList()
	limited := &io.LimitedReader{R: r, N: MaxNIDsSize + 1}
	lines := bufio.NewScanner(limited)
	lines.Buffer(nil, 1<<20)
	count := 0
	for lines.Scan() {
		count++
		line, _, _ := strings.Cut(lines.Text(), "#")
		text := strings.TrimSpace(line)
		if text == "" {
			continue
		}
		if err := n.add(text); err != nil {
			return nil, &Error{File: name, Line: count, Column: strings.Index(line, text) + 1, Err: err}
		}
	}
	if err := lines.Err(); err != nil {
		return nil, &Error{File: name, Line: count + 1, Column: 1, Err: err}
	}
	if limited.N == 0 {
		return nil, &Error{File: name, Err: fmt.Errorf("more than %d bytes", MaxNIDsSize)}
	}
	return n.nids, nil
}

// ParseNIDList is ParseNIDs for a text that is no file: errors have no position.
func ParseNIDList(text string) ([]nid.NID, error) {
	ids, err := ParseNIDs("", strings.NewReader(text))
	if placed, ok := errors.AsType[*Error](err); ok {
		err = placed.Err
	}
	return ids, err
}

// nidList collects NIDs, all of them different.
type nidList struct {
	nids []nid.NID
	has  map[nid.NID]bool
}

func newNIDList() *nidList { return &nidList{has: map[nid.NID]bool{}} }

// add adds the NIDs that an expression stands for.
func (l *nidList) add(text string) error {
	set, err := nid.ParseSet(text)
	if err != nil {
		return err
	}
	more, err := set.Expand(gossipwire.MaxParticipants - len(l.nids))
	if err != nil {
		return err
	}
	for _, id := range more {
		switch {
		case id.IsLo() || id.IsAny() || !id.IsValid():
			return fmt.Errorf("%v cannot be a participant", id)
		case l.has[id]:
			return fmt.Errorf("%v is listed twice", id)
		case len(l.nids) > 0 && id.Net() != l.nids[0].Net():
			return fmt.Errorf("%v is on another network than %v: gossip has one", id, l.nids[0])
		}
		l.has[id] = true
		l.nids = append(l.nids, id)
	}
	return nil
}

// participants parses a list of expressions for NIDs.
func participants(to *[]nid.NID) setting {
	return setting{func(value ast.Node) error {
		list, ok := value.(*ast.SequenceNode)
		if !ok {
			return fmt.Errorf("want a list with NIDs behind each dash, such as 10.0.0.[1-20]@tcp, not %q", value)
		}
		n := newNIDList()
		for _, entry := range list.Values {
			var expression string
			if err := text(&expression, n.add).put(entry); err != nil {
				return &entryError{entry.GetToken(), err}
			}
		}
		*to = n.nids
		return nil
	}}
}
