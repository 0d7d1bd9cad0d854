package nid

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// anyText is the text of the wildcard NID.
const anyText = "<?>"

// Parse parses the text of a NID (libcfs_strnid): "10.0.0.1@tcp3", the same without "@tcp3" for
// network tcp, "fe80::1@tcp", "31@gni", "0x1f@gni", "0@lo", "<?>" for the wildcard, or the
// numeric text of any other, "c0a80101@<17:0>". Any address in network lo is 0@lo.
// Parse(n.String()) is n for every n. A NID whose numeric text has type 0 can be parsed too,
// but is not valid. The error wraps errNet, errNetNumber or errAddress.
func Parse(s string) (NID, error) {
	n, err := parse(s)
	if err != nil {
		return NID{}, fmt.Errorf("NID %q: %w", s, err)
	}
	return n, nil
}

// MustParse is Parse for tests and constants; it panics on an error.
func MustParse(s string) NID {
	n, err := Parse(s)
	if err != nil {
		panic(err)
	}
	return n
}

func parse(s string) (NID, error) {
	if s == anyText {
		return Any(), nil
	}
	addr, netText, found := strings.Cut(s, "@")
	net := MakeNet(TCP, 0)
	if found {
		var err error
		if net, err = parseNet(netText); err != nil {
			return NID{}, err
		}
	}
	if strings.HasPrefix(netText, "<") {
		return parseWords(net, addr)
	}
	switch net.Type().text().addr {
	case textLo:
		return Lo0(), nil
	case textIP, textIPv4:
		return parseIP(net, addr)
	}
	return parseNumber(net, addr)
}

func parseIP(net Net, s string) (NID, error) {
	if v, ok := parseIPv4(s); ok {
		return FromNumber(net, v), nil
	}
	a, err := netip.ParseAddr(s)
	if err != nil || !a.Is6() || a.Zone() != "" || net.Type().text().addr != textIP {
		return NID{}, errAddress
	}
	return fromIP(net, a), nil
}

// parseIPv4 parses four decimal octets. Unlike netip it takes leading zeros,
// which LNet ignores.
func parseIPv4(s string) (v uint32, ok bool) {
	for i := range 4 {
		octet, rest, found := strings.Cut(s, ".")
		n, err := strconv.ParseUint(octet, 10, 8)
		if err != nil || found != (i < 3) {
			return 0, false
		}
		v, s = v<<8|uint32(n), rest
	}
	return v, true
}

func parseNumber(net Net, s string) (NID, error) {
	base := 10
	if len(s) > 2 && (s[:2] == "0x" || s[:2] == "0X") {
		base, s = 16, s[2:]
	}
	n, err := strconv.ParseUint(s, base, 32)
	if err != nil {
		return NID{}, errAddress
	}
	return FromNumber(net, uint32(n)), nil
}

// String returns the text of n as LNet prints it (libcfs_nidstr), "<?>" for the wildcard. NIDs
// that the textual form of their network cannot express have the numeric text. These are NIDs
// of a type without a name, as "c0a80101@<17:0>", or "0@<0:0>" for the zero NID; NIDs with an
// address longer than their type has, of which LNet prints only the first four bytes; and NIDs
// of network lo other than 0@lo.
func (n NID) String() string { return string(n.AppendTo(make([]byte, 0, 64))) }

// AppendTo appends the text of String.
func (n NID) AppendTo(b []byte) []byte {
	if n.IsAny() {
		return append(b, anyText...)
	}
	addr := n.Addr()
	text := n.typ().text().addr
	switch {
	case addr.IsValid():
		b = addr.AppendTo(b)
	case n.IsLo():
		b = append(b, '0')
	case text == textNumber && n.Is4():
		b = strconv.AppendUint(b, uint64(n.addr[0]), 10)
	case text == textHex && n.Is4():
		b = strconv.AppendUint(append(b, "0x"...), uint64(n.addr[0]), 16)
	default:
		return appendNumericNet(append(n.appendWords(b), '@'), n.Net())
	}
	return n.Net().AppendTo(append(b, '@'))
}

// MarshalText returns what String returns, and nothing for the zero NID.
func (n NID) MarshalText() ([]byte, error) { return marshalText(n) }

// UnmarshalText is Parse; an empty text gives the zero NID.
func (n *NID) UnmarshalText(text []byte) error { return unmarshalText(n, text, Parse) }

// marshalText returns the text of a value, and nothing for the zero value.
func marshalText[T interface {
	comparable
	AppendTo([]byte) []byte
}](v T) ([]byte, error) {
	if v == *new(T) {
		return []byte{}, nil
	}
	return v.AppendTo(nil), nil
}

// unmarshalText sets a value to what a text says; an empty text gives the zero value.
func unmarshalText[T any](v *T, text []byte, parse func(string) (T, error)) (err error) {
	if len(text) == 0 {
		*v = *new(T)
		return nil
	}
	*v, err = parse(string(text))
	return err
}
