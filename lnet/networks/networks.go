// Package networks reads the tunable networks of LNet, which says on which interfaces a
// node is: tcp(eth0),o2ib(eth1). It opens nothing and looks nothing up.
package networks

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"ulnet/lnet/nid"
)

// Interface is one network interface to configure: a net and its interface or address.
type Interface struct {
	Net nid.Net // net of the NI
	// Name is an interface name or a local address; empty leaves the choice
	// to the driver.
	Name string
}

// String returns i as an entry of a networks string.
func (i Interface) String() string {
	if i.Name == "" {
		return i.Net.String()
	}
	return i.Net.String() + "(" + i.Name + ")"
}

// maxText is the length of the longest networks string in bytes.
const maxText = 4096

// Error is a mistake in a networks string, with its position.
type Error struct {
	Text   string // the whole text as given
	Offset int    // offset of the mistake in Text, in bytes
	Reason string // what is wrong at Offset, and what would be right
}

func (e *Error) Error() string {
	return fmt.Sprintf("networks %q at character %d: %s; an entry looks like tcp, tcp(eth0), o2ib1(10.0.0.1) or tcp(eth0,eth1), several are separated by commas",
		e.Text, e.Offset+1, e.Reason)
}

// Parse parses the tunable networks (LNet config.c
// lnet_parse_networks):
//
//	networks   = entry { "," entry }
//	entry      = net [ "(" interface { "," interface } ")" ] [ cpts ]
//	interface  = ( interface name | local address ) [ cpts ]
//	cpts       = "[" numbers and ranges "]"
//
// Blanks around words mean nothing. CPU partitions (cpts) are checked and
// ignored, entries of network lo are ignored: every node has 0@lo. The result
// has one element per interface, in order; no net stands on one interface
// twice. An error is a *Error.
func Parse(s string) ([]Interface, error) {
	if len(s) > maxText {
		return nil, &Error{s[:20] + "…", 0, fmt.Sprintf("longer than %d bytes", maxText)}
	}
	p := parser{text: s}
	for {
		p.entry()
		if p.err != nil {
			return nil, p.err
		}
		if p.at == len(s) {
			return p.found, nil
		}
		p.expect(',')
	}
}

// parser reads text from left to right; the first error stops it.
type parser struct {
	text  string
	at    int
	found []Interface
	err   error // the first error, an *Error
}

func (p *parser) fail(at int, format string, args ...any) {
	if p.err == nil {
		p.err = &Error{p.text, at, fmt.Sprintf(format, args...)}
	}
}

// word reads the text before the next separator, without blanks around it, and returns its
// position too.
func (p *parser) word() (word string, start int) {
	rest := p.text[p.at:]
	end := strings.IndexAny(rest, ",()[]")
	if end < 0 {
		end = len(rest)
	}
	word = strings.TrimLeft(rest[:end], " \t")
	start = p.at + end - len(word)
	p.at += end
	return strings.TrimRight(word, " \t"), start
}

// next skips the byte c if it comes next.
func (p *parser) next(c byte) bool {
	if p.err != nil || p.at == len(p.text) || p.text[p.at] != c {
		return false
	}
	p.at++
	return true
}

func (p *parser) expect(c byte) {
	if !p.next(c) {
		p.fail(p.at, "want %q", c)
	}
}

func (p *parser) entry() {
	word, start := p.word()
	if word == "" {
		p.fail(start, "want a network, such as tcp")
		return
	}
	net, err := nid.ParseNet(word)
	if err != nil {
		p.fail(start, "%v", err)
		return
	}
	if !p.next('(') {
		p.cpts()
		p.add(start, Interface{Net: net})
		return
	}
	for more := true; more && p.err == nil; more = p.next(',') {
		p.iface(net)
	}
	p.expect(')')
	p.blank()
	p.cpts()
}

func (p *parser) iface(net nid.Net) {
	name, start := p.word()
	if !validInterface(name) {
		p.fail(start, "want an interface name or a local address, not %q", name)
		return
	}
	if a, err := netip.ParseAddr(name); err == nil && !a.Is4() && net.Type().IPv4Only() {
		p.fail(start, "networks of type %v have IPv4 addresses only, not %v", net.Type(), a)
		return
	}
	p.cpts()
	p.add(start, Interface{net, name})
}

// cpts parses an optional list of CPU partitions.
func (p *parser) cpts() {
	if p.next('[') {
		start := p.at
		end := strings.IndexByte(p.text[p.at:], ']')
		if end < 0 {
			p.fail(p.at, "want ']'")
			return
		}
		p.at += end + 1
		if list := p.text[start : start+end]; strings.Trim(list, "0123456789,-/ ") != "" || strings.TrimSpace(list) == "" {
			p.fail(start, "want numbers of CPU partitions, such as [0,2-3]")
		}
	}
	p.blank()
}

func (p *parser) blank() {
	rest := p.text[p.at:]
	p.at += len(rest) - len(strings.TrimLeft(rest, " \t"))
}

func (p *parser) add(start int, i Interface) {
	switch {
	case i.Net.Type() == nid.Lo:
	case slices.Contains(p.found, i):
		p.fail(start, "%v stands there twice", i)
	default:
		p.found = append(p.found, i)
	}
}

// broadcast is the address of all hosts on a link.
var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

// validInterface reports whether s can name an interface (Linux
// dev_valid_name, IFNAMSIZ) or be an address of one.
func validInterface(s string) bool {
	if a, err := netip.ParseAddr(s); err == nil {
		plain := a.Unmap()
		// Linux lets a socket listen on the broadcast address, but connections from or to it are not possible.
		return a.Zone() == "" && !plain.IsUnspecified() && !plain.IsMulticast() && plain != broadcast
	}
	return s != "" && len(s) < 16 && s != "." && s != ".." && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7F || r == '/'
	})
}
