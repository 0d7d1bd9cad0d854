package faultrule

import (
	"fmt"
	"strconv"
	"strings"

	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// Types is a set of message types: bit 1<<t is wire.MsgType t (LNET_PUT_BIT …). The zero
// value has all of them.
type Types uint8

// allTypes has the bit of each type.
const allTypes = 1<<wire.Ack | 1<<wire.Put | 1<<wire.Get | 1<<wire.Reply

// AllWord stands for everything in the text of a set.
const AllWord = "all"

// typesInOrder is the order of types in texts.
var typesInOrder = [...]wire.MsgType{wire.Put, wire.Ack, wire.Get, wire.Reply}

// Has reports whether t is in the set.
func (s Types) Has(t wire.MsgType) bool { return s == 0 || t <= wire.Reply && s&(1<<t) != 0 }

// Names returns the names of the types in the order of typesInOrder, or nothing if s has all types.
func (s Types) Names() (names []string) {
	for _, t := range typesInOrder {
		if s != 0 && s.Has(t) {
			names = append(names, t.String())
		}
	}
	return names
}

// String returns the text, such as "PUT,ACK" or "all".
func (s Types) String() string {
	if s == 0 {
		return AllWord
	}
	return strings.Join(s.Names(), ",")
}

// ParseTypes parses a list such as "PUT,ACK", in upper or lower case, or "all".
func ParseTypes(s string) (Types, error) {
	if s == AllWord {
		return 0, nil
	}
	var set Types
next:
	for name := range strings.SplitSeq(s, ",") {
		for _, t := range typesInOrder {
			if strings.EqualFold(name, t.String()) {
				set |= 1 << t
				continue next
			}
		}
		return 0, fmt.Errorf("%q is no type of message: want PUT, ACK, GET, REPLY, or several separated by commas", name)
	}
	return set, nil
}

// MarshalText returns the text of String.
func (s Types) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses the text as ParseTypes does.
func (s *Types) UnmarshalText(b []byte) (err error) {
	*s, err = ParseTypes(string(b))
	return err
}

// maxPortals is how many portals a node has (MAX_PORTALS).
const maxPortals = 64

// Portals is a set of portals, bit 1<<i for portal i. The zero value stands for messages of any
// portal or none. Any other value stands for PUTs and GETs to its portals alone.
type Portals uint64

// Has reports whether the message is one to a portal of the set.
func (s Portals) Has(h *wire.Header) bool {
	if s == 0 {
		return true
	}
	var portal uint32
	switch h.Type {
	case wire.Put:
		portal = h.Put().Portal
	case wire.Get:
		portal = h.Get().Portal
	default:
		return false
	}
	return portal < maxPortals && s&(1<<portal) != 0
}

// String returns the text, such as "4,7" or "all".
func (s Portals) String() string {
	if s == 0 {
		return AllWord
	}
	var list []string
	for i := range maxPortals {
		if s&(1<<i) != 0 {
			list = append(list, strconv.Itoa(i))
		}
	}
	return strings.Join(list, ",")
}

// ParsePortals parses a text such as "4,7" or "all".
func ParsePortals(s string) (Portals, error) {
	if s == AllWord {
		return 0, nil
	}
	var set Portals
	for text := range strings.SplitSeq(s, ",") {
		i, err := strconv.ParseUint(text, 10, 8)
		if err != nil || i >= maxPortals {
			return 0, fmt.Errorf("%q is no portal: want a number from 0 to %d, or several separated by commas", text, maxPortals-1)
		}
		set |= 1 << i
	}
	return set, nil
}

// MarshalText returns the text of String.
func (s Portals) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses the text as ParsePortals does.
func (s *Portals) UnmarshalText(b []byte) (err error) {
	*s, err = ParsePortals(string(b))
	return err
}

// ParseNID parses a NID of a rule: a NID, * for any, or *@tcp for all NIDs of a net.
func ParseNID(s string) (nid.NID, error) {
	if s == "*" {
		return nid.Any(), nil
	}
	if net, whole := strings.CutPrefix(s, "*@"); whole {
		n, err := nid.ParseNet(net)
		return wholeNet(n), err
	}
	id, err := nid.Parse(s)
	if err != nil {
		return id, fmt.Errorf("%w; want a NID, *@NET or *", err)
	}
	return id, nil
}

// FormatNID returns the text that ParseNID parses.
func FormatNID(id nid.NID) string {
	switch {
	case id.IsAny():
		return "*"
	case id == wholeNet(id.Net()):
		return "*@" + id.Net().String()
	}
	return id.String()
}
