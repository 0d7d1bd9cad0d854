package tree

import (
	"cmp"
	"fmt"
	"slices"
	"syscall"

	"github.com/goccy/go-yaml/ast"
)

// maxUnknown is the largest number of different unknown keys of a file that warnings name.
const maxUnknown = 20

// unknownKey is a key of a file that has no meaning, and that stands in one or more lines.
type unknownKey struct {
	name   string
	line   int // the first line
	second int // the second line; 0: there is none
	more   int // number of further lines
}

func (k *unknownKey) err() *Error { return inFile(k.line, syscall.EINVAL, "unknown key %q", k.name) }

// warning says that the key is ignored. Lustre's tool ignores such a key without a message.
func (k *unknownKey) warning() string {
	text := inFile(k.line, syscall.EINVAL, "unknown key %q is ignored", k.name).Error()
	if k.second > 0 {
		text += fmt.Sprintf(", as in line %d", k.second)
	}
	if k.more > 0 {
		text += fmt.Sprintf(" and %d more", k.more)
	}
	return text
}

// unknownKeys are the first keys of a file that have no meaning, in their order, each name once.
type unknownKeys struct {
	list []unknownKey
	more int // number of lines with further names
}

// note adds a line with an unknown key.
func (u *unknownKeys) note(e *ast.MappingValueNode) {
	u.add(unknownKey{name: keyOf(e), line: lineOf(e.Key)})
}

// add adds an unknown key, whose lines come after those of the keys in the list.
func (u *unknownKeys) add(k unknownKey) {
	at := slices.IndexFunc(u.list, func(has unknownKey) bool { return has.name == k.name })
	switch {
	case at < 0 && len(u.list) == maxUnknown:
		u.more++
	case at < 0:
		u.list = append(u.list, k)
	case u.list[at].second == 0:
		u.list[at].second, u.list[at].more = k.line, k.lines()-1
	default:
		u.list[at].more += k.lines()
	}
}

// lines returns the number of lines in which the key stands.
func (k *unknownKey) lines() int { return 1 + min(k.second, 1) + k.more }

// join adds the unknown keys of a later part of the file.
func (u *unknownKeys) join(o unknownKeys) {
	for _, k := range o.list {
		u.add(k)
	}
	u.more += o.more
}

// first returns the error for the unknown key in the first line; nil: all keys are known.
func (u *unknownKeys) first() *Error {
	if len(u.list) == 0 {
		return nil
	}
	k := slices.MinFunc(u.list, func(a, b unknownKey) int { return cmp.Compare(a.line, b.line) })
	return k.err()
}
