package engine

import (
	"slices"
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnd/lndtest/spec"
)

// graph returns the links of all nodes that are up, by number.
func (w *world) graph() [][]int {
	g := make([][]int, len(w.nodes))
	for _, n := range w.nodes {
		if n.up {
			for _, p := range n.m.Neighbours(nil) {
				g[n.i] = append(g[n.i], w.nodeOf(n, p).i)
			}
		}
	}
	return g
}

// reach returns how many nodes can be reached from one node, and over how many hops, if no path may
// go through the nodes in the parameter without.
func reach(g [][]int, from int, without map[int]bool) (n, hops int) {
	seen, ring := map[int]bool{from: true}, []int{from}
	for ; len(ring) > 0; hops++ {
		var next []int
		for _, i := range ring {
			for _, j := range g[i] {
				if !seen[j] && !without[j] {
					seen[j] = true
					next = append(next, j)
				}
			}
		}
		ring = next
	}
	return len(seen), hops - 1
}

// TestTopology: every node has links to its K_s successors and K_r random neighbours, both ends
// know each link, and the overlay is well connected (MS-24, MS-25, MS-27, MS-A12).
func TestTopology(t *testing.T) {
	spec.Covers(t, "MS-24", "MS-25", "MS-27", "MS-A12")
	for _, n := range []int{2, 3, 5, 40} {
		w := booted(t, 4, n, Config{})
		w.checkSuccessors()
		g := w.graph()
		sum := 0
		for i, list := range g {
			sum += len(list)
			for _, j := range list {
				if !containsInt(g[j], i) {
					t.Errorf("%d has a link to %d, but not the other way", i, j)
				}
			}
		}
		if mean := float64(sum) / float64(n); n == 40 && (mean < 8 || mean > 11) {
			t.Errorf("%.1f links on average, want 10", mean)
		}
		if n < 40 {
			continue
		}
		limit := w.nodes[0].m.diameter() // ⌈log3 40⌉ + 1 = 5
		for i := range g {
			if count, hops := reach(g, i, nil); count != n || hops > limit {
				t.Errorf("%d reaches %d in %d hops", i, count, hops)
			}
			for j := range g {
				if count, _ := reach(g, i, map[int]bool{j: true, (j + 7) % n: true}); i != j && i != (j+7)%n && count != n-2 {
					t.Errorf("without %d and %d, %d reaches %d", j, (j+7)%n, i, count)
				}
			}
		}
		for _, dead := range w.nodes[:3] { // MS-27: the ring is repaired
			dead.kill()
		}
		w.until(5*time.Second, w.agree)
		w.run(2 * time.Second)
		w.checkSuccessors()
	}
}

func containsInt(list []int, i int) bool {
	for _, j := range list {
		if i == j {
			return true
		}
	}
	return false
}

// checkSuccessors checks that each node has the links to its successors on the ring.
func (w *world) checkSuccessors() {
	w.t.Helper()
	table := NewTable(1000)
	byRef := map[wire.Ref]*node{}
	for _, n := range w.nodes {
		if r, err := table.Add(n.id); err == nil && n.up {
			byRef[r] = n
		}
	}
	var ring []*node
	for _, r := range table.ring {
		if n := byRef[r]; n != nil {
			ring = append(ring, n)
		}
	}
	for i, n := range ring {
		successors := 0
		for j := range n.m.links.list {
			if n.m.links.list[j].mine&wire.Successor != 0 {
				successors++
			}
		}
		want := min(n.m.cfg.Successors, len(ring)-1)
		if successors != want {
			w.fail("%v has %d successors", n.id.Name(), successors)
		}
		for k := 1; k <= want; k++ {
			next := ring[(i+k)%len(ring)]
			if l := n.m.links.get(n.m.Table().Lookup(next.id)); l == nil || l.state != up || l.mine&wire.Successor == 0 {
				w.fail("%v has no link to its successor %v", n.id.Name(), next.id.Name())
			}
		}
	}
}

// TestCrowded: too many nodes have drawn this node as a neighbour, and it redirects the
// surplus. Of the nodes that consider it their successor, it keeps the nearest (MS-A12).
func TestCrowded(t *testing.T) {
	spec.Covers(t, "MS-A12")
	s := newSolo(t, 60, Config{})
	for i := 1; i < 60; i++ {
		s.alive(i, v(7, 1))
	}
	limit := 2*s.m.cfg.Random + 2
	theirs := func() (n int) {
		for i := range s.m.links.list {
			if s.m.links.list[i].theirs == wire.Random {
				n++
			}
		}
		return n
	}
	for i := 1; i <= limit; i++ {
		s.link(i, v(7, 1))
	}
	s.hear(limit+1, v(7, 1), wire.Message{Kind: wire.LinkRequest, Roles: wire.Random})
	refusal := s.out.Sends[len(s.out.Sends)-1].Message
	if theirs() != limit || refusal.Reason != wire.Redirect || refusal.About == s.ref[limit+1] || !s.m.view.has(refusal.About) {
		t.Errorf("%d drawn links, answer %+v", theirs(), refusal)
	}
	for i := 20; i < 60; i++ {
		s.hear(i, v(7, 1), wire.Message{Kind: wire.LinkRequest, Roles: wire.Successor})
	}
	var kept int
	for i := range s.m.links.list {
		if s.m.links.list[i].theirs == wire.Successor {
			kept++
		}
	}
	if kept > maxPredecessors(s.m.cfg.Successors) || s.count(wire.LinkRefuse) != 1 {
		t.Errorf("%d take it for their successor", kept)
	}
	// The requester follows the redirection.
	r := newSolo(t, 60, Config{})
	for i := 1; i < 60; i++ {
		r.alive(i, v(7, 1))
	}
	r.pass(2 * r.m.cfg.Aggregation)
	for i := range r.m.links.list {
		if l := &r.m.links.list[i]; l.mine == wire.Random {
			to := r.m.draw(0)
			from := 0
			for j := range r.ref {
				if r.ref[j] == l.node {
					from = j
				}
			}
			r.hear(from, v(7, 1), wire.Message{Kind: wire.LinkRefuse, Reason: wire.Redirect, About: to, AboutVersion: v(7, 1)})
			if n := r.m.links.get(to); n == nil || n.hops != 1 || r.m.links.get(r.ref[from]) != nil {
				t.Errorf("it did not follow to %v", r.m.cfg.Table.ID(to))
			}
			break
		}
	}
}

// TestRedirectsEnd: a request for a link is redirected a limited number of times; then the node
// draws another one (MS-A12).
func TestRedirectsEnd(t *testing.T) {
	spec.Covers(t, "MS-A12")
	s := newSolo(t, 60, Config{})
	for i := 1; i < 60; i++ {
		s.alive(i, v(7, 1))
	}
	s.pass(2 * s.m.cfg.Aggregation)
	at := slices.IndexFunc(s.m.links.list, func(l link) bool { return l.mine == wire.Random })
	from, followed := s.m.links.list[at].node, 0
	for range 3 * maxHops {
		to := s.m.draw(0)
		s.hear(slices.Index(s.ref, from), v(7, 1), wire.Message{Kind: wire.LinkRefuse, Reason: wire.Redirect, About: to, AboutVersion: v(7, 1)})
		if l := s.m.links.get(to); l == nil || l.hops == 0 {
			break
		}
		from = to
		followed++
	}
	if followed != maxHops-1 {
		t.Errorf("the request was passed on %d times", followed)
	}
}

// TestConnectFails: a node that cannot connect to a successor suspects it, but not a random
// neighbour (MS-33, MS-34, MS-35).
func TestConnectFails(t *testing.T) {
	spec.Covers(t, "MS-33", "MS-34", "MS-35")
	s := newSolo(t, 30, Config{})
	for i := 1; i < 9; i++ {
		s.link(i, v(7, 3)) // many other links stay up: otherwise this node would blame itself for the failures
	}
	for i := 9; i < 30; i++ {
		s.alive(i, v(7, 3))
	}
	s.pass(s.m.cfg.Aggregation)
	roles := map[wire.Ref]wire.Roles{}
	for i := range s.m.links.list {
		if l := &s.m.links.list[i]; l.state == connecting {
			roles[l.node] = l.mine
		}
	}
	if len(roles) < 4 {
		t.Fatalf("%d links", len(roles))
	}
	for _, p := range s.ref {
		switch role := roles[p]; role {
		case wire.Random:
			s.step(Input{Kind: Failed, Node: p})
			s.want()
			if s.m.links.get(p) != nil {
				t.Error("the link to a random neighbour that can not be reached stays")
			}
		case wire.Successor:
			s.step(Input{Kind: Failed, Node: p})
			s.want(Event{Kind: Suspected, Node: p, Version: v(7, 3)})
			if r := s.m.suspicions.on(p); len(r) != 1 || r[0] != (report{by: s.m.self, version: v(7, 3)}) {
				t.Errorf("reports %v", r)
			}
		}
	}
}

// TestBehindSuspected: while a successor is suspected, the node also monitors the member after
// its last successor, because its other successors may be dead as well (MS-26).
func TestBehindSuspected(t *testing.T) {
	spec.Covers(t, "MS-26")
	s := newSolo(t, 30, Config{})
	for i := 1; i < 9; i++ {
		s.link(i, v(7, 3)) // many other links stay up: otherwise this node would blame itself for the failures
	}
	for i := 9; i < 30; i++ {
		s.alive(i, v(7, 3))
	}
	s.pass(s.m.cfg.Aggregation)
	successors := func() (list []wire.Ref) {
		ring := s.m.cfg.Table.ring
		for i := 1; i < len(ring); i++ {
			p := ring[(s.m.cfg.Table.rank(s.m.self)+i)%len(ring)]
			if l := s.m.links.get(p); l != nil && l.mine&wire.Successor != 0 {
				list = append(list, p)
			}
		}
		return list
	}
	before := successors()
	if len(before) != 2 {
		t.Fatalf("%d successors", len(before))
	}
	for s.m.links.get(before[0]).state != retrying {
		s.step(Input{Kind: Failed, Node: before[0]})
	}
	s.pass(s.m.cfg.Aggregation)
	ring := s.m.cfg.Table.ring
	third := ring[(s.m.cfg.Table.rank(s.m.self)+3)%len(ring)]
	if after := successors(); len(after) != 3 || after[0] != before[0] || after[2] != third {
		t.Errorf("successors %v, before %v, want %v as well", after, before, third)
	}
}

// TestProbe: when the connection to a peer is lost, the node probes the peer by a heartbeat on a new connection. It
// suspects the peer only if that connection fails, too (MS-31, MS-A30).
func TestProbe(t *testing.T) {
	spec.Covers(t, "MS-31", "MS-A30")
	s := newSolo(t, 9, Config{})
	for i := 1; i < 9; i++ {
		s.link(i, v(7, 1))
	}
	s.step(Input{Kind: Down, Node: s.ref[3]})
	s.want()
	if s.count(wire.Heartbeat) != 1 || s.out.Sends[0].Message.Flags&wire.Echo == 0 {
		t.Errorf("sent %+v", s.out.Sends)
	}
	s.hear(3, v(7, 1), wire.Message{Kind: wire.Heartbeat}) // the node answers
	s.step(Input{Kind: Failed, Node: s.ref[3]})
	s.want()
	s.step(Input{Kind: Failed, Node: s.ref[3]})
	s.want(Event{Kind: Suspected, Node: s.ref[3], Version: v(7, 1)})

	s.step(Input{Kind: Down, Node: s.ref[4]}) // the next incarnation of node 4 becomes known before the probe fails
	s.alive(4, v(8, 1))
	s.step(Input{Kind: Failed, Node: s.ref[4]})
	s.want()
	if s.m.stats.OtherIncarnation != 1 {
		t.Error("the failure of an earlier life counts")
	}
}

// TestRemovedPeer: when a node that was removed asks for a link, or sends a heartbeat, the answer says that it was
// removed. The node then refutes that by a newer version, and asks again (MS-A12).
func TestRemovedPeer(t *testing.T) {
	spec.Covers(t, "MS-A12")
	s := newSolo(t, 5, Config{Threshold: 1, Successors: 1})
	s.alive(2, v(7, 3))
	s.alive(3, v(7, 1))
	s.suspicion(3, 2, v(7, 3))
	for _, msg := range []wire.Message{{Kind: wire.LinkRequest, Roles: wire.Random}, {Kind: wire.Heartbeat}} {
		s.hear(2, v(7, 3), msg)
		if r := s.out.Sends; len(r) != 1 || r[0].Message.Reason != wire.Removed || r[0].Message.AboutVersion != v(7, 3) {
			t.Errorf("%v is answered by %+v", msg.Kind, r)
		}
	}
	s.hear(2, v(7, 4), wire.Message{Kind: wire.LinkRequest, Roles: wire.Random})
	s.is(2, inView, v(7, 4))

	s.link(4, v(7, 1))
	s.m.links.get(s.ref[4]).mine = wire.Random
	s.hear(4, v(7, 1), wire.Message{Kind: wire.LinkRefuse, Reason: wire.Removed, About: s.ref[0], AboutVersion: v(10, 1)})
	s.want(Event{Kind: Refuted, Node: s.ref[0], Version: v(10, 2)})
	if s.count(wire.LinkRequest) != 1 {
		t.Errorf("sent %+v", s.out.Sends)
	}
}
