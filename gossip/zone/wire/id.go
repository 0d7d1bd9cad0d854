package wire

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ulnet/lnet/nid"
)

// Limits of an [ID].
const (
	maxName      = 255 // bound of the length of a name in bytes
	maxEndpoints = 8
	maxID        = maxName + 1 + maxEndpoints*nid.ExtendedSize // bound of the length of the canonical form in bytes
)

// Why a text or bytes are not an id.
var (
	ErrName      = errors.New("zone: a node's name has 1 to 255 printable bytes and no space, '=' or ','")
	ErrEndpoints = fmt.Errorf("zone: a node has 1 to %d endpoints, each once, sorted in the canonical form", maxEndpoints)
	ErrID        = errors.New("zone: not a node's id: want NAME=NID[,NID...]")
)

// ID names a node: its name and network endpoints (MS-5). IDs are
// comparable; the zero value names none.
type ID struct {
	canonical string // name, 0, endpoints in the extended form and in order (MS-A25)
}

// NewID returns the id of a node. Endpoints may come in any order. The error is
// [ErrName] or [ErrEndpoints].
func NewID(name string, endpoints ...nid.NID) (ID, error) {
	if strings.IndexByte(name, 0) >= 0 {
		return ID{}, ErrName
	}
	b := append([]byte(name), 0)
	sorted := slices.SortedFunc(slices.Values(endpoints), nid.NID.Compare)
	for _, e := range sorted {
		b = e.AppendExtended(b)
	}
	return parseCanonical(b)
}

// parseCanonical checks a canonical form and copies it.
func parseCanonical(b []byte) (ID, error) {
	name, rest, found := bytes.Cut(b, []byte{0})
	if !found || len(name) == 0 || len(name) > maxName || !ValidName(name) {
		return ID{}, ErrName
	}
	if n := len(rest) / nid.ExtendedSize; len(rest)%nid.ExtendedSize != 0 || n < 1 || n > maxEndpoints {
		return ID{}, ErrEndpoints
	}
	var before nid.NID
	for i := 0; len(rest) > 0; i++ {
		id, after, err := nid.ParseExtended(rest)
		if err != nil || !id.IsValid() || id.IsAny() || i > 0 && before.Compare(id) >= 0 {
			return ID{}, ErrEndpoints
		}
		// A NID in another encoding than ours would give a different id for the same node.
		if again := id.AppendExtended(make([]byte, 0, nid.ExtendedSize)); !bytes.Equal(again, rest[:nid.ExtendedSize]) {
			return ID{}, ErrEndpoints
		}
		before, rest = id, after
	}
	return ID{string(b)}, nil
}

func ValidName(name []byte) bool {
	for len(name) > 0 {
		r, size := utf8.DecodeRune(name)
		if r == utf8.RuneError && size == 1 || !unicode.IsPrint(r) || r == ' ' || r == '=' || r == ',' {
			return false
		}
		name = name[size:]
	}
	return true
}

// ParseID parses NAME=NID[,NID...]. The error wraps [ErrID], [ErrName],
// [ErrEndpoints] or what package nid says.
func ParseID(s string) (ID, error) {
	name, rest, found := strings.Cut(s, "=")
	if !found {
		return ID{}, fmt.Errorf("%w: %q", ErrID, s)
	}
	var endpoints []nid.NID
	for text := range strings.SplitSeq(rest, ",") {
		e, err := nid.Parse(text)
		if err != nil {
			return ID{}, fmt.Errorf("%w: %q: %w", ErrID, s, err)
		}
		endpoints = append(endpoints, e)
	}
	id, err := NewID(name, endpoints...)
	if err != nil {
		return ID{}, fmt.Errorf("%w: %q", err, s)
	}
	return id, nil
}

// MustParseID is [ParseID] for tests and constants.
func MustParseID(s string) ID {
	id, err := ParseID(s)
	if err != nil {
		panic(err)
	}
	return id
}

// IsValid reports whether the id names a node.
func (id ID) IsValid() bool { return id.canonical != "" }

// Name returns the node's name.
func (id ID) Name() string {
	name, _, _ := strings.Cut(id.canonical, "\x00")
	return name
}

// Endpoints returns the node's NIDs in order.
func (id ID) Endpoints() []nid.NID {
	_, rest, _ := strings.Cut(id.canonical, "\x00")
	var list []nid.NID
	for b := []byte(rest); len(b) > 0; {
		e, after, err := nid.ParseExtended(b)
		if err != nil {
			return list // impossible: the endpoints were checked when the id was made
		}
		list, b = append(list, e), after
	}
	return list
}

// String returns what [ParseID] parses.
func (id ID) String() string {
	if !id.IsValid() {
		return ""
	}
	b := append([]byte(id.Name()), '=')
	for i, e := range id.Endpoints() {
		if i > 0 {
			b = append(b, ',')
		}
		b = e.AppendTo(b)
	}
	return string(b)
}

// Compare orders ids by the bytes of their canonical form.
func (id ID) Compare(other ID) int { return strings.Compare(id.canonical, other.canonical) }

// AppendCanonical appends the canonical form, at most maxID bytes.
func (id ID) AppendCanonical(b []byte) []byte { return append(b, id.canonical...) }

// MarshalText implements encoding.TextMarshaler.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (id *ID) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		*id = ID{}
		return nil
	}
	*id, err = ParseID(string(text))
	return err
}

// Position is the position of a node on the ring: the SHA-1 digest of its id's canonical form
// (MS-A25).
type Position [sha1.Size]byte

// Position returns the node's position on the ring.
func (id ID) Position() Position { return sha1.Sum([]byte(id.canonical)) }

// Short returns the short form of an id: the first bytes of its position. Messages name a node
// in this form if the receiver is expected to know it.
func (id ID) Short() uint64 { return shortOf([]byte(id.canonical)) }

func shortOf(canonical []byte) uint64 {
	pos := sha1.Sum(canonical)
	return binary.BigEndian.Uint64(pos[:])
}

// CanonicalSize returns how many bytes the canonical form has.
func (id ID) CanonicalSize() int { return len(id.canonical) }
