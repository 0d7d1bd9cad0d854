package doctor

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
)

// match is the answer to whether a packet matches.
type match uint8

const (
	yes match = iota
	maybe
	no
	absent // the packet has no header of the protocol that the expression names, so the condition is false with any operator, even !=
)

func (t match) and(u match) match { return max(t, u) }

func known(is bool) match {
	if is {
		return yes
	}
	return no
}

// statements are the expressions of nft that set no condition, so that every packet fulfils them.
var statements = []string{"counter", "log", "comment", "mangle", "notrack", "accept", "drop", "reject", "queue", "return", "vmap", "jump", "goto"}

// matches reports whether a packet fulfills an expression. Every packet fulfills a statement, such as a
// counter. The result is maybe if it depends on something that is not known, such as the source, or if
// this package does not understand the expression, such as an extension of iptables (xt).
func (p packet) matches(x map[string]json.RawMessage) match {
	body, ok := x["match"]
	if !ok {
		for kind := range x {
			if !slices.Contains(statements, kind) {
				return maybe
			}
		}
		return yes
	}
	var m struct {
		Op    string
		Left  map[string]json.RawMessage
		Right json.RawMessage
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return maybe
	}
	t := p.compare(m.Left, m.Right)
	switch {
	case t == absent:
		return no
	case m.Op == "!=" && t != maybe:
		return no - t
	case m.Op != "==" && m.Op != "!=" && m.Op != "in":
		return maybe
	}
	return t
}

// compare compares the left side of a match, which names a part of the packet, with its right side.
func (p packet) compare(left map[string]json.RawMessage, right json.RawMessage) match {
	var part struct{ Protocol, Field, Key string }
	for kind, body := range left {
		if err := json.Unmarshal(body, &part); err != nil {
			return maybe
		}
		switch kind {
		case "payload":
			return p.payload(part.Protocol, part.Field, right)
		case "meta":
			return p.meta(part.Key, right)
		case "ct":
			if part.Key == "state" {
				return contains(right, says(func(v string) bool { return v == "new" }))
			}
		}
	}
	return maybe
}

func (p packet) payload(protocol, field string, right json.RawMessage) match {
	switch {
	case protocol == "tcp" || protocol == "udp" || protocol == "th":
		if protocol != "th" && protocol != p.protocol {
			return absent
		}
		if field == "dport" {
			return contains(right, func(v json.RawMessage) match { return holds(v, p.port) })
		}
	case (protocol == "ip" || protocol == "ip6") && protocol == "ip" != p.to.Is4():
		return absent
	case (protocol == "ip" || protocol == "ip6") && field == "daddr":
		return contains(right, func(v json.RawMessage) match { return covers(v, p.to) })
	case (protocol == "ip" || protocol == "ip6") && (field == "protocol" || field == "nexthdr"):
		return contains(right, says(func(v string) bool { return v == p.protocol }))
	case protocol == "icmp" || protocol == "icmpv6":
		return absent
	}
	return maybe
}

func (p packet) meta(key string, right json.RawMessage) match {
	switch key {
	case "iif", "iifname":
		return contains(right, says(func(v string) bool { return isInterface(v, p.iface) }))
	case "l4proto":
		return contains(right, says(func(v string) bool { return v == p.protocol }))
	case "nfproto":
		want := "ipv6"
		if p.to.Is4() {
			want = "ipv4"
		}
		return contains(right, says(func(v string) bool { return v == want }))
	}
	return maybe
}

// isInterface reports whether a name of nft, which may end in *, stands for an interface.
func isInterface(name, iface string) bool {
	prefix, wild := strings.CutSuffix(name, "*")
	return name == iface || wild && strings.HasPrefix(iface, prefix)
}

// contains calls its second argument for each value on the right side of a match. That side is a
// value, a list or a set of values. contains returns yes if one result is yes, and otherwise maybe if one
// is maybe. For a named set it returns maybe, because the elements of the set are not known.
func contains(right json.RawMessage, is func(json.RawMessage) match) match {
	if strings.HasPrefix(text(right), "@") {
		return maybe
	}
	var list []json.RawMessage
	var set struct{ Set []json.RawMessage }
	switch {
	case json.Unmarshal(right, &list) == nil:
	case json.Unmarshal(right, &set) == nil && set.Set != nil:
		list = set.Set
	default:
		list = []json.RawMessage{right}
	}
	best := no
	for _, v := range list {
		best = min(best, is(plain(v)))
	}
	return best
}

// plain returns the value of an element of a set without its comment, counter or time limit.
func plain(v json.RawMessage) json.RawMessage {
	var e struct{ Elem struct{ Val json.RawMessage } }
	if json.Unmarshal(v, &e) == nil && e.Elem.Val != nil {
		return e.Elem.Val
	}
	return v
}

func text(v json.RawMessage) (s string) {
	_ = json.Unmarshal(v, &s) // s stays empty if v is no text
	return s
}

// says returns a function that calls the predicate is with a text, and returns its result as yes or no. For
// a value that is not a text, the function returns maybe.
func says(is func(string) bool) func(json.RawMessage) match {
	return func(v json.RawMessage) match {
		var s string
		if json.Unmarshal(v, &s) != nil {
			return maybe
		}
		return known(is(s))
	}
}

// holds tells whether a value, a number or a range, contains a port.
func holds(v json.RawMessage, port uint16) match {
	var n uint16
	if json.Unmarshal(v, &n) == nil {
		return known(n == port)
	}
	var r struct{ Range []uint16 }
	if json.Unmarshal(v, &r) != nil || len(r.Range) != 2 {
		return maybe
	}
	return known(r.Range[0] <= port && port <= r.Range[1])
}

// covers tells whether a value, which is an address, a range or a prefix, contains the address a.
func covers(v json.RawMessage, a netip.Addr) match {
	if b, err := netip.ParseAddr(text(v)); err == nil {
		return known(a == b)
	}
	var of struct {
		Prefix struct {
			Addr string
			Len  int
		}
		Range []string
	}
	if json.Unmarshal(v, &of) != nil {
		return maybe
	}
	if b, err := netip.ParseAddr(of.Prefix.Addr); err == nil {
		return known(netip.PrefixFrom(b, of.Prefix.Len).Contains(a))
	}
	if len(of.Range) != 2 {
		return maybe
	}
	first, err := netip.ParseAddr(of.Range[0])
	last, err2 := netip.ParseAddr(of.Range[1])
	if err != nil || err2 != nil {
		return maybe
	}
	return known(first.Compare(a) <= 0 && a.Compare(last) <= 0)
}
