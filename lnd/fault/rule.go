package fault

import (
	"strings"

	"ulnet/lnd/link"
	"ulnet/lnet/faultrule"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// Types is a set of message types; see [faultrule.Types].
type Types = faultrule.Types

// Portals is a set of portals; see [faultrule.Portals].
type Portals = faultrule.Portals

// allWord matches every NID, type or portal.
const allWord = faultrule.AllWord

// Rule says which messages a fault affects, and what it does to them. The zero
// value of From, To, Types or Portals matches all messages.
type Rule struct {
	From, To nid.Set // sets that contain the header's source and destination NID
	Types    Types   // types of the messages that match
	Portals  Portals // portals of the PUTs and GETs that match

	Cut    bool        // no matching message passes; if false, Change applies
	Change link.Change // how the transmission differs from that of a perfect link; without a rate
}

// matches reports whether the rule applies to a message. The parameter to is valid for a multicast
// datagram that arrives: it is the NID of the receiver. The set r.To must contain the destination in the
// header or the NID in to.
func (r *Rule) matches(h *wire.Header, to nid.NID) bool {
	return r.Types.Has(h.Type) && r.Portals.Has(h) && r.From.Has(h.SrcNID) && (r.To.Has(h.DestNID) || to.IsValid() && r.To.Has(to))
}

// Match is the text of the messages that r is about. It omits the fields that stand for all
// messages, so that it is empty for a rule about all messages.
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

// Effect returns the text of what r does to messages.
func (r *Rule) Effect() string {
	if r.Cut {
		return cutWord
	}
	return r.Change.String()
}

// String returns the text that [ParseRule] takes.
func (r *Rule) String() string { return strings.TrimSpace(r.Match() + " " + r.Effect()) }
