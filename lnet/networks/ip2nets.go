package networks

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"ulnet/lnet/nid"
)

// patternNet is a net whose NIDs are IP addresses, so that a NID range can match one.
const patternNet = "@tcp"

// ForAddresses parses the tunable ip2nets and returns the networks string of a host with
// these addresses (LNet config.c lnet_match_networks, lnet_parse_ip2nets):
//
//	ip2nets   = entry { ( ";" | newline ) entry }
//	entry     = nets blank pattern { blank pattern }
//	nets      = as in the tunable networks, without CPU partitions
//	pattern   = four numbers, *, or ranges such as [1-4,8-20/2], separated by dots
//
// An entry matches if one of its patterns matches one of the addresses. The result has the nets
// of all matching entries, in order, as in LNet since 2.10. If several entries name an
// interface of a net, it is in the result once. A pattern may also be an address prefix such as
// 10.1.0.0/16 or fd88::/64. Errors are of type *EntryError; if no entry matches, that is an
// error too.
func ForAddresses(ip2nets string, addrs []netip.Addr) (string, error) {
	var found []Interface
	var text []string
	err := parseEntries(ip2nets, func(nets []Interface, patterns []nid.Set) {
		if !matches(patterns, addrs) {
			return
		}
		for _, i := range nets {
			if !slices.Contains(found, i) {
				found = append(found, i)
				text = append(text, i.String())
			}
		}
	})
	if err != nil {
		return "", err
	}
	if len(text) == 0 {
		return "", &EntryError{"ip2nets", ip2nets, 0, fmt.Sprintf("no entry matches an address of this host (%s): add one, or use networks", list(addrs))}
	}
	return strings.Join(text, ","), nil
}

// CheckIP2Nets tells what is wrong with a text of ip2nets, whatever the addresses are.
func CheckIP2Nets(ip2nets string) error {
	return parseEntries(ip2nets, func([]Interface, []nid.Set) {})
}

// parseEntries calls each with every entry. It ends with the first error.
func parseEntries(ip2nets string, each func(nets []Interface, patterns []nid.Set)) error {
	if err := CheckLength("ip2nets", ip2nets); err != nil {
		return err
	}
	for words := range Entries(ip2nets) {
		p := entryParser{text: ip2nets}
		nets, patterns := p.entry(words)
		if p.err != nil {
			return p.err
		}
		each(nets, patterns)
	}
	return nil
}

type entryParser struct {
	text string
	err  error // the first error, an *EntryError
}

func (p *entryParser) fail(at int, format string, args ...any) {
	if p.err == nil {
		p.err = &EntryError{"ip2nets", p.text, at, fmt.Sprintf(format, args...) +
			"; an entry looks like tcp(eth0) 10.0.0.[1-20], entries are separated by semicolons"}
	}
}

func (p *entryParser) entry(words []Word) (nets []Interface, patterns []nid.Set) {
	nets = p.nets(words[0])
	if len(words) == 1 {
		p.fail(words[0].Offset+len(words[0].Text), "want a pattern of addresses behind %s", words[0].Text)
	}
	for _, w := range words[1:] {
		patterns = append(patterns, p.pattern(w))
	}
	return nets, patterns
}

// nets parses the netspec of an entry. The same net twice in it is an error.
func (p *entryParser) nets(w Word) []Interface {
	if at := strings.IndexByte(w.Text, '['); at >= 0 {
		p.fail(w.Offset+at, "CPU partitions are for networks, not for ip2nets")
		return nil
	}
	q := parser{text: w.Text}
	var seen []nid.Net
	for {
		at, before := q.at, len(q.found)
		q.entry()
		if q.err == nil && len(q.found) > before {
			net := q.found[before].Net
			if slices.Contains(seen, net) {
				p.fail(w.Offset+at, "%v stands in the entry twice: tcp(eth0,eth1) names several interfaces of a network", net)
			}
			seen = append(seen, net)
		}
		if q.err != nil || q.at == len(w.Text) {
			break
		}
		q.expect(',')
	}
	if e, bad := q.err.(*Error); bad {
		p.fail(w.Offset+e.Offset, "%s", e.Reason)
	}
	return q.found
}

// pattern parses a pattern of addresses by the rules of NID ranges.
func (p *entryParser) pattern(w Word) nid.Set {
	if at := strings.IndexByte(w.Text, '@'); at >= 0 {
		p.fail(w.Offset+at, "want addresses, not NIDs")
		return nid.Set{}
	}
	set, err := nid.ParseSet(w.Text + patternNet)
	if err != nil {
		p.fail(w.Offset, "%q is no pattern of addresses: want four numbers or ranges, such as 10.0.[0-3].*", w.Text)
	}
	return set
}

func matches(patterns []nid.Set, addrs []netip.Addr) bool {
	net, _ := nid.ParseNet(patternNet[1:])
	for _, a := range addrs {
		id := nid.FromAddr(net, a.Unmap())
		if id.IsValid() && slices.ContainsFunc(patterns, func(s nid.Set) bool { return s.Has(id) }) {
			return true
		}
	}
	return false
}

func list(addrs []netip.Addr) string {
	if len(addrs) == 0 {
		return "none"
	}
	var texts []string
	for _, a := range addrs[:min(len(addrs), 8)] {
		texts = append(texts, a.String())
	}
	return strings.Join(texts, ", ")
}
