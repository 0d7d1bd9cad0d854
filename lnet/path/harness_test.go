package path

import (
	"errors"
	"testing"

	"ulnet/lnet/nid"
)

// world is the node, peers and routes among which a path is chosen.
type world struct {
	t       *testing.T
	locals  map[string]*Local
	remotes map[string]*Remote
	table   *Table
}

// newWorld returns a node with some NIs, without routes.
func newWorld(t *testing.T, nis ...string) *world {
	w := &world{t: t, locals: make(map[string]*Local), remotes: make(map[string]*Remote)}
	var list []*Local
	for _, text := range nis {
		l := &Local{NID: nid.MustParse(text)}
		w.locals[text] = l
		list = append(list, l)
	}
	w.table = NewTable(list, nil)
	return w
}

// peer adds a node with the given NIDs to the world.
func (w *world) peer(multiRail bool, nis ...string) *Peer {
	var list []*Remote
	for _, text := range nis {
		list = append(list, w.remote(text))
	}
	p := NewPeer(multiRail, list...)
	for _, r := range list {
		r.SetPeer(p)
	}
	return p
}

func (w *world) remote(text string) *Remote {
	if w.remotes[text] == nil {
		w.remotes[text] = &Remote{NID: nid.MustParse(text)}
	}
	return w.remotes[text]
}

// route adds a route to a net, by a router.
func (w *world) route(net, router string) *Gateway {
	g := &Gateway{Net: nid.MustParseNet(net), Router: nid.MustParse(router), NI: w.remote(router)}
	var locals []*Local
	for _, n := range w.table.Nets {
		locals = append(locals, n.NIs...)
	}
	w.table = NewTable(locals, append(w.table.gateways, g))
	return g
}

func (w *world) query(kind Kind, source, dest string) *Query {
	q := &Query{Kind: kind, Dest: nid.MustParse(dest), To: w.remotes[dest]}
	if source != "" {
		q.Source = nid.MustParse(source)
	}
	return q
}

// want chooses the path of a message, compares the choice with the expected one, and notes by Use, with
// the sequence number at, that the message takes it.
func (w *world) want(q *Query, at uint64, local, hop, dest string) {
	w.t.Helper()
	c, err := Choose(w.table, q)
	if err != nil {
		w.t.Errorf("to %v: %v", q.Dest, err)
		return
	}
	if c.Local.NID.String() != local || c.Hop.String() != hop || c.Dest.String() != dest {
		w.t.Errorf("to %v: from %v by %v to %v, want from %s by %s to %s", q.Dest, c.Local.NID, c.Hop, c.Dest, local, hop, dest)
	}
	c.Use(w.remote(c.Hop.String()), at)
}

func (w *world) wantError(q *Query, want error) {
	w.t.Helper()
	if c, err := Choose(w.table, q); !errors.Is(err, want) {
		w.t.Errorf("to %v: %v by %v, want %v", q.Dest, err, c.Hop, want)
	}
}
