package nid

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strings"
)

// allWord is the text of the set with every NID.
const allWord = "all"

// Set is a set of NIDs as LNet describes it in text (struct nidrange). The zero
// value has all of them.
type Set struct{ ranges []setRange }

// setRange is one entry of a NID list (struct nidrange): a network, and which of its addresses
// are in the set. Of the fields below, the first one that is set says which.
type setRange struct {
	net    Net
	any    bool         // the range has every NID
	prefix netip.Prefix // IP addresses of the range, if valid
	parts  []numbers    // the four octets of an IPv4 address, or one number
}

// ParseSet parses a NID list as LNet has it (cfs_parse_nidlist), or "all":
//
//	10.0.0.[1-5,9]@tcp 192.168.*.*@tcp1 [3-5]@gni *@o2ib 10.1.0.0/16@tcp fd88::/64@tcp
//
// Entries are separated by blanks. 255.255.255.255@tcp stands for *@tcp, as in
// the kernel's fault rules.
func ParseSet(s string) (Set, error) {
	words := joinBrackets(strings.Fields(s))
	if len(words) == 0 {
		return Set{}, errors.New("no NIDs: want all, or such as 10.0.0.[1-5]@tcp or *@tcp1")
	}
	var set Set
	all := false
	for _, w := range words {
		if w == allWord {
			all = true
			continue
		}
		r, err := parseRange(w)
		if err != nil {
			return Set{}, fmt.Errorf("NIDs %q: %w", w, err)
		}
		set.ranges = append(set.ranges, r)
	}
	if all {
		return Set{}, nil
	}
	return set, nil
}

// joinBrackets joins words that were split inside brackets.
func joinBrackets(words []string) (joined []string) {
	open := false
	for _, w := range words {
		if open {
			joined[len(joined)-1] += w
		} else {
			joined = append(joined, w)
		}
		if i := strings.LastIndexAny(w, "[]"); i >= 0 {
			open = w[i] == '['
		}
	}
	return joined
}

func parseRange(s string) (r setRange, err error) {
	addr, netText, found := strings.Cut(s, "@")
	if !found {
		return r, errors.New("want ADDRESS@NET, such as 10.0.0.[1-5]@tcp, or all")
	}
	if r.net, err = ParseNet(netText); err != nil {
		return r, err
	}
	switch {
	case addr == "*" || addr == "255.255.255.255":
		r.any = true
	case !hasAddresses(r.net):
		r.parts = make([]numbers, 1)
		r.parts[0], err = parseNumbers(addr, math.MaxUint32)
	case strings.ContainsAny(addr, "/:") && !strings.Contains(addr, "["):
		r.prefix, err = parsePrefix(r.net, addr)
	default:
		r.parts, err = parseOctets(addr)
	}
	return r, err
}

// hasAddresses reports whether NIDs of a network have IP addresses.
func hasAddresses(net Net) bool {
	return FromAddr(net, netip.AddrFrom4([4]byte{10, 0, 0, 1})).IsValid()
}

// parsePrefix parses a prefix (10.1.0.0/16, fd88::/64) or IPv6 address.
func parsePrefix(net Net, s string) (netip.Prefix, error) {
	if !strings.Contains(s, "/") {
		s += "/128"
	}
	p, err := netip.ParsePrefix(s)
	if p.Addr().Is4In6() && p.Bits() > 96 { // an IPv4-mapped prefix is one of IPv4 addresses, as an IPv4-mapped NID is an IPv4 NID
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	if err != nil || p.Bits() == 0 || !FromAddr(net, p.Addr()).IsValid() {
		return p, errors.New("want an address of this network and a length, such as 10.1.0.0/16")
	}
	return p.Masked(), nil
}

func parseOctets(s string) ([]numbers, error) {
	texts := strings.Split(s, ".")
	if len(texts) != 4 {
		return nil, errors.New("want four numbers, such as 10.0.0.[1-5]")
	}
	parts := make([]numbers, 4)
	for i, t := range texts {
		var err error
		if parts[i], err = parseNumbers(t, math.MaxUint8); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// IsAll reports whether the set contains every NID.
func (s Set) IsAll() bool { return s.ranges == nil }

// Has reports whether the set contains id.
func (s Set) Has(id NID) bool {
	if s.ranges == nil {
		return true
	}
	for i := range s.ranges {
		if s.ranges[i].has(id) {
			return true
		}
	}
	return false
}

func (r *setRange) has(id NID) bool {
	switch {
	case id.Net() != r.net:
		return false
	case r.any:
		return true
	case r.prefix.IsValid():
		return r.prefix.Contains(id.Addr())
	case !id.Is4():
		return false
	case len(r.parts) == 1:
		return r.parts[0].has(id.Number())
	}
	var octets [4]byte
	binary.BigEndian.PutUint32(octets[:], id.Number())
	for i, o := range octets {
		if !r.parts[i].has(uint32(o)) {
			return false
		}
	}
	return true
}

// String returns the text that [ParseSet] takes, as LNet would print it.
func (s Set) String() string {
	if s.ranges == nil {
		return allWord
	}
	var b []byte
	for i := range s.ranges {
		if i > 0 {
			b = append(b, ' ')
		}
		b = s.ranges[i].appendTo(b)
	}
	return string(b)
}

func (r *setRange) appendTo(b []byte) []byte {
	switch {
	case r.any:
		b = append(b, '*')
	case r.prefix.IsValid() && r.prefix.IsSingleIP():
		b = r.prefix.Addr().AppendTo(b)
	case r.prefix.IsValid():
		b = r.prefix.AppendTo(b)
	case len(r.parts) == 1:
		b = r.parts[0].appendTo(b, math.MaxUint32)
	default:
		for i, p := range r.parts {
			if i > 0 {
				b = append(b, '.')
			}
			b = p.appendTo(b, math.MaxUint8)
		}
	}
	return r.net.AppendTo(append(b, '@'))
}
