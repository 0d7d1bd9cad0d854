package tree

import (
	"fmt"
	"slices"
	"strings"

	"ulnet/lnet/udsp"
)

// Change is what importing a file would do with one item.
type Change struct {
	Line int    `json:"line"` // line of the item in the file
	Kind Kind   `json:"kind"` // add, set or fail
	What string `json:"what"` // the item, and how it changes or why it fails
}

// Kind is what importing the file would do with an item.
type Kind string

// The kinds of changes. An item that is the same in the file and on the node is no change.
const (
	Adds  Kind = "add"
	Sets  Kind = "set"
	Fails Kind = "fail" // import would fail: the item exists already, or the file is wrong
)

// Diff lists the differences between a file and a node, in the order of the file. An item that
// only the node has is no difference, because import removes nothing.
func Diff(now *Tree, f *File) (list []Change) {
	d := differ{now: now}
	for _, s := range f.Sections {
		for _, i := range s.Items {
			d.item(i)
		}
		for _, e := range s.Errs {
			d.add(e.Line, Fails, "%s: %s", s.Key, e.Text)
		}
	}
	return d.list
}

// Retuned lists the NIs of a node for which the file has other tunables. Each result is a
// network with one NI.
func Retuned(now *Tree, f *File) (list []Net) {
	for _, s := range f.Sections {
		for _, i := range s.Items {
			if i.Net == nil {
				continue
			}
			for _, ni := range i.Net.NIs {
				d := differ{now: now}
				d.ni(i.Line, i.Net.Type, ni)
				if len(d.list) > 0 && d.list[0].Kind == Fails {
					list = append(list, Net{Type: i.Net.Type, NIs: []NI{*now.ni(i.Net.Type, ni)}})
				}
			}
		}
	}
	return list
}

type differ struct {
	now  *Tree
	list []Change
}

func (d *differ) add(line int, k Kind, format string, args ...any) {
	d.list = append(d.list, Change{line, k, fmt.Sprintf(format, args...)})
}

func (d *differ) item(i Item) {
	switch {
	case i.Net != nil:
		for _, ni := range i.Net.NIs {
			d.ni(i.Line, i.Net.Type, ni)
		}
	case i.Route != nil:
		d.route(i.Line, i.Route)
	case i.Peer != nil && i.Peer.IsConfigured():
		d.peer(i.Line, i.Peer)
	case i.UDSP != nil:
		d.rule(i.Line, i.UDSP)
	}
	for _, s := range i.Settings() {
		d.setting(i.Line, s)
	}
}

// route compares a route with those of the node.
func (d *differ) route(line int, r *Route) {
	what := fmt.Sprintf("route to %s by %v", r.Net, r.Gateway)
	at := slices.IndexFunc(d.now.Route, r.Same)
	if at < 0 {
		d.add(line, Adds, "%s", what)
		return
	}
	has := d.now.Route[at]
	d.same(line, what, "hop", has.Hop, r.Hop)
	d.same(line, what, "priority", has.Priority, r.Priority)
	if r.Sensitivity != 0 {
		here := max(has.Sensitivity, 1)
		d.same(line, what, "health_sensitivity", &here, &r.Sensitivity)
	}
}

// same adds a failure if a value differs, because import cannot change values of an existing item.
func (d *differ) same(line int, what, name string, has, want *int) {
	if want != nil && has != nil && *has != *want {
		d.add(line, Fails, "%s: %s is %d here and %d in the file; remove it first", what, name, *has, *want)
	}
}

// ni compares an NI with those of the node.
func (d *differ) ni(line int, net string, ni NI) {
	if net == Loopback {
		return
	}
	on := strings.Join(ni.Interfaces, ", ")
	if ni.NID.IsValid() {
		on = ni.NID.String()
	}
	what := fmt.Sprintf("net %s on %s", net, on)
	has := d.now.ni(net, ni)
	if has == nil {
		d.add(line, Adds, "%s", what)
		return
	}
	if t, want := has.Tunables, ni.Tunables; t != nil && want != nil {
		d.same(line, what, "peer_timeout", t.PeerTimeout, want.PeerTimeout)
		d.same(line, what, "peer_credits", t.PeerCredits, want.PeerCredits)
		d.same(line, what, "peer_buffer_credits", t.PeerBufferCredits, want.PeerBufferCredits)
		d.same(line, what, "credits", t.Credits, want.Credits)
	}
	for _, t := range ni.LND.without("timeout") {
		want, _ := ni.LND.Get(t.Name)
		if n, ok := has.LND.Get(t.Name); ok {
			d.same(line, what, t.Name, &n, &want)
		}
	}
}

// ni finds the NI of a net by the NID or the interface that the file has. If no NI was started with the name of the
// interface, it takes the NI that has the address for which this name stands now.
func (t *Tree) ni(net string, ni NI) *NI {
	for _, same := range []func(*NI, NI) bool{(*NI).startedAs, (*NI).is} {
		for _, n := range t.Net {
			if n.Type != net {
				continue
			}
			if i := slices.IndexFunc(n.NIs, func(has NI) bool { return same(&has, ni) }); i >= 0 {
				return &n.NIs[i]
			}
		}
	}
	return nil
}

// startedAs reports whether has, an NI of the node, was started with the name of the interface by which ni is
// described. It does not matter whether the interface still has the NI's address.
func (has *NI) startedAs(ni NI) bool {
	return !ni.NID.IsValid() && len(ni.Interfaces) > 0 && has.StartedOn == ni.Interfaces[0]
}

// is reports whether has, an NI of the node, is the NI that ni describes. A file describes an NI by its NID, by
// its interface, or by an address in the place of the interface.
func (has *NI) is(ni NI) bool {
	if ni.NID.IsValid() {
		return has.NID == ni.NID
	}
	if len(ni.Interfaces) == 0 {
		return false
	}
	name := ni.Interfaces[0]
	return AddrText(has.NID) == name || !has.ByAddress && slices.Contains(has.Interfaces, name)
}

// peer compares a peer with the same peer of the node. Importing adds the NIDs of the file to
// those that the node has. A peer with several NIDs is Multi-Rail.
func (d *differ) peer(line int, p *Peer) {
	at := slices.IndexFunc(d.now.Peer, func(has Peer) bool { return has.Primary == p.Primary && has.IsConfigured() })
	var has Peer
	if at >= 0 {
		has = d.now.Peer[at]
	}
	switch {
	case !p.MultiRail && slices.ContainsFunc(slices.Concat(has.NIs, p.NIs), func(ni PeerNI) bool { return ni.NID != p.Primary }):
		d.add(line, Fails, "peer %v: Multi-Rail cannot be false, because it has several NIDs here or in the file", p.Primary)
		return
	case at < 0:
		d.add(line, Adds, "peer %v", p.Primary)
		return
	case has.MultiRail != p.MultiRail:
		d.add(line, Sets, "peer %v: Multi-Rail: %t -> %t", p.Primary, has.MultiRail, p.MultiRail)
	}
	for _, ni := range p.NIs {
		if !slices.ContainsFunc(has.NIs, func(has PeerNI) bool { return has.NID == ni.NID }) {
			d.add(line, Adds, "NID %v of peer %v", ni.NID, p.Primary)
		}
	}
}

// rule compares a selection rule with those of the node.
func (d *differ) rule(line int, u *UDSP) {
	what := "udsp"
	for _, p := range []struct{ name, text string }{{"src", u.Src}, {"dst", u.Dst}, {"rte", u.Rte}} {
		if p.text != "" {
			what += " " + p.name + " " + p.text
		}
	}
	at := slices.IndexFunc(d.now.UDSP, u.Same)
	switch {
	case at < 0:
		d.add(line, Adds, "%s", what)
	case priority(d.now.UDSP[at]) != priority(*u):
		d.add(line, Sets, "%s: priority %d -> %d", what, priority(d.now.UDSP[at]), priority(*u))
	}
}

// samePattern reports whether two texts are the same pattern, such as [0-255] and *.
func samePattern(a, b string) bool {
	p, err := udsp.ParsePattern(a)
	q, err2 := udsp.ParsePattern(b)
	return a == b || err == nil && err2 == nil && p.Equal(q)
}

func priority(u UDSP) uint32 {
	if u.Action == nil {
		return 0
	}
	return u.Action.Priority
}

// setting compares a setting with that of the node.
func (d *differ) setting(line int, s Setting) {
	if s.Name == ShownOnly {
		return
	}
	for _, has := range d.now.settings() {
		if has.Name == s.Name {
			if has.Value != s.Value {
				d.add(line, Sets, "%s: %d -> %d", s.Name, has.Value, s.Value)
			}
			return
		}
	}
	if s.Value != 0 { // a node that is no router has no buffers, which counts as 0
		d.add(line, Sets, "%s: %d", s.Name, s.Value)
	}
}

// settings lists all settings of the node.
func (t *Tree) settings() (list []Setting) {
	if t.Global != nil {
		list = t.Global.Settings()
	}
	if t.Buffers != nil {
		list = append(list, Item{Buffers: t.Buffers}.Settings()...)
	}
	if t.Routing != nil {
		list = append(list, Item{Routing: t.Routing}.Settings()...)
	}
	return list
}
