package engine

import (
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// impersonate delivers a message that names one node as its sender, and comes from the NID of another.
func (w *world) impersonate(liar, as, to *node, msg wire.Message) {
	m := as.m
	msg.From, msg.Version = m.self, m.ver
	out := &Output{}
	m.out = out
	m.send(as.ref(to), msg)
	m.encode(0)
	m.out = nil
	for _, s := range out.Sends {
		to.step(Input{Kind: Arrived, Data: out.Buf[s.Begin:s.End], Peer: liar.id.Endpoints()[0]})
	}
}

// TestLinksInAnothersName: a liar sends all other members messages that end or refuse their links, in the names of
// their neighbours. The links stay. So a member can refute the goodbyes that the liar invents of it at the same
// time (MS-A3, MS-A12).
func TestLinksInAnothersName(t *testing.T) {
	spec.Covers(t, "MS-A3", "MS-A12")
	w := booted(t, 4, 24, Config{})
	victim, liar := w.nodes[4], w.nodes[1]
	w.lose = func(from, _ *node, m *wire.Message) bool { return from == liar && m.Kind != wire.Heartbeat } // the liar passes nothing on
	least := 1000
	for i := range 400 {
		for _, n := range w.nodes {
			for _, p := range n.m.Neighbours(nil) {
				as := w.nodeOf(n, p)
				if n == liar || as == liar {
					continue
				}
				for _, msg := range []wire.Message{{Kind: wire.LinkDrop, Reason: wire.Unwanted}, {Kind: wire.LinkRefuse, Reason: wire.Busy}} {
					w.impersonate(liar, as, n, msg)
				}
			}
		}
		if i%40 == 0 {
			for _, n := range w.nodes {
				if n != victim && n != liar {
					l := lies["a goodbye"](n, victim, victim.m.Version())
					w.claim(liar, n, wire.Message{Kind: wire.Update, Lists: &l})
				}
			}
		}
		w.run(25 * time.Millisecond)
		least = min(least, len(victim.m.Neighbours(nil)))
	}
	if w.wrongly > 0 || !w.agree() || least < 4 {
		t.Errorf("it was removed %d times, and had %d neighbours", w.wrongly, least)
	}
}

// TestMovedNIDs: a node may send from NIDs that are not in its id. Its messages about links count as long as none
// has come from a NID of the id. After that, they count only if they come from a NID of the id, from a node whose
// primary NID is in the id, or from the node that has sent from a NID of the id (MS-A12).
func TestMovedNIDs(t *testing.T) {
	spec.Covers(t, "MS-A12")
	own, other := testID(1).Endpoints()[0], testID(7).Endpoints()[0]
	for what, tt := range map[string]struct {
		first, then, primary nid.NID
		known                nid.NID // primary NID of the node that sends from the NID first
		want                 int
	}{
		"own NID":             {first: own, then: own, want: 0},
		"another one":         {first: own, then: other, want: 1},
		"its primary NID":     {first: own, then: other, primary: own, want: 0},
		"primary, not listed": {first: own, known: other, then: other, primary: other, want: 0},
		"another of the node": {first: own, known: testID(8).Endpoints()[0], then: other, primary: testID(8).Endpoints()[0], want: 0},
		"another node":        {first: own, known: testID(8).Endpoints()[0], then: other, primary: other, want: 1},
		"always from there":   {first: other, then: other, want: 0},
	} {
		to, from := codecs(t)
		now := time.Second
		deliver := func(peer, primary nid.NID, msg wire.Message) {
			now += time.Millisecond
			to.Step(now, Input{Kind: Arrived, Data: encoded(t, from, msg)[0], Peer: peer, Primary: primary}, &Output{})
		}
		to.Step(now, Input{Kind: Join, Inc: 1}, &Output{})
		deliver(tt.first, tt.first, wire.Message{Kind: wire.LinkRequest, Roles: wire.Random})
		deliver(tt.first, tt.known, wire.Message{Kind: wire.Heartbeat})
		deliver(tt.first, tt.first, wire.Message{Kind: wire.Heartbeat})
		deliver(tt.then, tt.primary, wire.Message{Kind: wire.LinkDrop, Reason: wire.Unwanted})
		if got := len(to.links.list); got != tt.want {
			t.Errorf("%s: %d links, want %d", what, got, tt.want)
		}
	}
}
