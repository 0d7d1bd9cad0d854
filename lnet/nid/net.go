package nid

import (
	"fmt"
	"strconv"
	"strings"
)

// Net is one network: a type and a number that tells networks of this type
// apart. The number is 0 where the text has none: "tcp" is "tcp0".
type Net struct {
	value uint32 // type << 16 | number, or all ones for any
}

// MakeNet returns network num of type t.
func MakeNet(t NetType, num uint16) Net {
	return netFromValue(uint32(t)<<16 | uint32(num))
}

// anyNet returns the wildcard network (LNET_NET_ANY).
func anyNet() Net { return Net{1<<32 - 1} }

// netFromValue returns the network with the 32-bit network id v. Like LNet it
// ignores the top byte, which belongs to no field; of type 0xFF there is only
// the wildcard.
func netFromValue(v uint32) Net {
	if NetType(v>>16) == anyType {
		return anyNet()
	}
	return Net{v & 0xFFFFFF}
}

// Value returns the 32-bit network id, type << 16 | number, the upper half of
// a nid4; all ones for the wildcard.
func (n Net) Value() uint32 { return n.value }

// Type returns the type of the network.
func (n Net) Type() NetType { return NetType(n.value >> 16) }

// Num returns the number of the network.
func (n Net) Num() uint16 { return uint16(n.value) }

// IsValid reports whether n has a type, known or not. The wildcard is valid.
func (n Net) IsValid() bool { return n.Type() != 0 }

// IsAny reports whether n is the wildcard network.
func (n Net) IsAny() bool { return n == anyNet() }

// Compare orders networks by type, then by number.
func (n Net) Compare(m Net) int {
	switch {
	case n.value < m.value:
		return -1
	case n.value > m.value:
		return 1
	}
	return 0
}

// ParseNet parses a network such as "tcp" or "o2ib3", or by the number of its type, as
// "<17:0>". ParseNet(n.String()) is n for every n: a network of type 0 can be parsed, too,
// but is not valid. The error wraps errNet or errNetNumber.
func ParseNet(s string) (Net, error) {
	n, err := parseNet(s)
	if err != nil {
		return Net{}, fmt.Errorf("network %q: %w", s, err)
	}
	return n, nil
}

// MustParseNet is ParseNet for tests and constants; it panics on an error.
func MustParseNet(s string) Net {
	n, err := ParseNet(s)
	if err != nil {
		panic(err)
	}
	return n
}

func parseNet(s string) (Net, error) {
	if numeric, ok := strings.CutPrefix(s, "<"); ok {
		return parseNumericNet(numeric)
	}
	t, digits, ok := cutType(s)
	if !ok {
		return Net{}, errNet
	}
	if digits == "" {
		return MakeNet(t, 0), nil
	}
	if t == Lo || strings.Trim(digits, "0123456789") != "" {
		return Net{}, errNet
	}
	num, err := strconv.ParseUint(digits, 10, 16)
	if err != nil {
		return Net{}, errNetNumber
	}
	return MakeNet(t, uint16(num)), nil
}

// cutType finds the first type whose name begins s and returns what follows.
func cutType(s string) (t NetType, rest string, ok bool) {
	for _, t := range prefixOrder {
		if rest, ok := strings.CutPrefix(s, typeTexts[t].name); ok {
			return t, rest, true
		}
	}
	return 0, s, false
}

// String returns "tcp", "tcp3", or "<17:0>" for a type without a name and for
// lo with a number, which it cannot have in LNet.
func (n Net) String() string { return string(n.AppendTo(nil)) }

// AppendTo appends the text of String.
func (n Net) AppendTo(b []byte) []byte {
	name := n.Type().text().name
	if name == "" || n.Type() == Lo && n.Num() != 0 {
		return appendNumericNet(b, n)
	}
	b = append(b, name...)
	if n.Num() != 0 {
		b = strconv.AppendUint(b, uint64(n.Num()), 10)
	}
	return b
}

// MarshalText returns what String returns, and nothing for the zero Net.
func (n Net) MarshalText() ([]byte, error) { return marshalText(n) }

// UnmarshalText is ParseNet; an empty text gives the zero Net.
func (n *Net) UnmarshalText(text []byte) error { return unmarshalText(n, text, ParseNet) }
