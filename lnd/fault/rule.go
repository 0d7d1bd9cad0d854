package fault

import (
	"fmt"
	"strconv"
	"strings"

	"ulnet/lnd/link"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// Types is a set of message types, as LNet's fault rules have it: bit 1<<t is
// wire.MsgType t. The zero value has all of them.
type Types uint8

// allWord stands for everything.
const allWord = "all"

// typesInOrder is the order of their text.
var typesInOrder = [...]wire.MsgType{wire.Put, wire.Ack, wire.Get, wire.Reply}

// Has reports whether t is in the set.
func (s Types) Has(t wire.MsgType) bool { return s == 0 || t <= wire.Reply && s&(1<<t) != 0 }

// String returns such as "PUT,ACK", or "all".
func (s Types) String() string {
	if s == 0 {
		return allWord
	}
	var names []string
	for _, t := range typesInOrder {
		if s.Has(t) {
			names = append(names, t.String())
		}
	}
	return strings.Join(names, ",")
}

// parseTypes parses such as "PUT,ACK", in any case, or "all".
func parseTypes(s string) (Types, error) {
	if s == allWord {
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

// maxPortals is how many portals a node has (MAX_PORTALS).
const maxPortals = 64

// Portals is a set of portals, bit 1<<i for portal i. The zero value stands for
// messages of any portal or none, any other for PUTs and GETs alone.
type Portals uint64

func (s Portals) has(h *wire.Header) bool {
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

// String returns such as "4,7", or "all".
func (s Portals) String() string {
	if s == 0 {
		return allWord
	}
	var list []string
	for i := range maxPortals {
		if s&(1<<i) != 0 {
			list = append(list, strconv.Itoa(i))
		}
	}
	return strings.Join(list, ",")
}

// parsePortals parses such as "4,7", or "all".
func parsePortals(s string) (Portals, error) {
	if s == allWord {
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

// Rule says which messages are spoiled, and how. The zero value of a field
// stands for all messages.
type Rule struct {
	From, To nid.Set // source and destination in the header
	Types    Types   // types of message
	Portals  Portals // portals of PUTs and GETs

	Cut    bool        // none of them passes; else:
	Change link.Change // of a link that was perfect; without a rate
}

// matches reports whether the rule is about a message to a NID. One to a group is
// to the group and, where it arrives, to the NID that got it.
func (r *Rule) matches(h *wire.Header, to nid.NID) bool {
	return r.Types.Has(h.Type) && r.Portals.has(h) && r.From.Has(h.SrcNID) && (r.To.Has(h.DestNID) || to.IsValid() && r.To.Has(to))
}

// Match is the text of the messages that r is about: without what stands for
// all of them, and empty if that is all.
func (r *Rule) Match() string {
	var words []string
	for _, w := range []struct{ key, value string }{
		{fromWord, r.From.String()}, {toWord, r.To.String()}, {typeWord, r.Types.String()}, {portalWord, r.Portals.String()},
	} {
		if w.value != allWord {
			words = append(words, w.key, w.value)
		}
	}
	return strings.Join(words, " ")
}

// Effect is the text of what r does.
func (r *Rule) Effect() string {
	if r.Cut {
		return cutWord
	}
	return r.Change.String()
}

// String returns the text that [ParseRule] takes.
func (r *Rule) String() string { return strings.TrimSpace(r.Match() + " " + r.Effect()) }
