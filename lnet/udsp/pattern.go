package udsp

import (
	"fmt"
	"strings"

	"ulnet/lnet/nid"
)

// Pattern selects NIDs: a whole net, or a NID list. The zero value is none.
type Pattern struct {
	net nid.Net // the net, if the pattern is a net
	set nid.Set // the NIDs, if the pattern is not a net
	ok  bool
}

// ParsePattern parses a net such as tcp1, or NIDs such as 10.0.0.[1-9/2]@tcp. An empty text
// is no pattern.
func ParsePattern(s string) (p Pattern, err error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return p, nil
	}
	text := s
	if !strings.Contains(s, "@") {
		if p.net, err = nid.ParseNet(s); err != nil {
			return Pattern{}, fmt.Errorf("%w; want a net such as tcp1, or NIDs such as 10.0.0.[1-9]@tcp", err)
		}
		text = "*@" + s
	}
	if p.set, err = nid.ParseSet(text); err != nil {
		return Pattern{}, err
	}
	if p.set.IsAll() || len(s) > maxPattern {
		return Pattern{}, fmt.Errorf("want a net or NIDs in at most %d bytes", maxPattern)
	}
	p.ok = true
	return p, nil
}

// maxPattern bounds the text of a pattern in bytes.
const maxPattern = 4096

// IsValid reports whether p has been parsed from a text.
func (p Pattern) IsValid() bool { return p.ok }

// IsNet reports whether p stands for a whole net.
func (p Pattern) IsNet() bool { return p.net.IsValid() }

// Has reports whether a NID is one of the pattern's.
func (p Pattern) Has(id nid.NID) bool { return p.ok && p.set.Has(id) }

// String returns the text that ParsePattern takes.
func (p Pattern) String() string {
	switch {
	case !p.ok:
		return ""
	case p.IsNet():
		return p.net.String()
	}
	return p.set.String()
}

// MarshalText returns the text of String.
func (p Pattern) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText parses the text as ParsePattern does.
func (p *Pattern) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePattern(string(text))
	return err
}

// Equal reports whether two patterns have the same text.
func (p Pattern) Equal(o Pattern) bool { return p.String() == o.String() }

// IsZero reports whether p is the zero Pattern.
func (p Pattern) IsZero() bool { return !p.ok }
