package path

import (
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// step is a change in favor of one of two candidates; the steps of a list favor the
// first and the second in turn.
type step struct {
	what string
	do   func()
	why  Reason // reason why the other candidate loses
}

// prefers applies the steps in order. After each step the choice must change to the other
// candidate: each change outweighs all changes before it.
func (w *world) prefers(q *Query, steps []step, first func(*Choice) bool, isCandidate func(Candidate) bool) {
	w.t.Helper()
	for i, s := range steps {
		s.do()
		e := Explain(w.table, q)
		if e.Err != nil {
			w.t.Fatalf("%s: %v", s.what, e.Err)
		}
		if got := first(&e.Choice); got != (i%2 == 0) {
			w.t.Errorf("%s: the first was chosen: %v", s.what, got)
		}
		chosen := 0
		for _, c := range e.Candidates {
			switch {
			case !isCandidate(c):
			case c.Why == Chosen:
				chosen++
			case c.Why != s.why:
				w.t.Errorf("%s: the other lost for %q, want %q", s.what, c.Why, s.why)
			}
		}
		if chosen != 1 {
			w.t.Errorf("%s: %d are said to be chosen", s.what, chosen)
		}
	}
}

func isLocal(c Candidate) bool   { return c.Local != nil }
func isRemote(c Candidate) bool  { return c.Remote != nil }
func isGateway(c Candidate) bool { return c.Gateway != nil }

// TestPreferLocal checks in which order local NIs are preferred.
func TestPreferLocal(t *testing.T) {
	spec.Covers(t, "SP-9")
	w := newWorld(t, here0, here0b)
	w.peer(true, peer0)
	a, b := w.locals[here0], w.locals[here0b]
	w.prefers(w.query(Request, "", peer0), []step{
		{"equal", func() {}, ComesLater},
		{"last use", func() { a.lastUse.Store(5) }, UsedLater},
		{"credits", func() { a.SetCredits(1) }, FewerCredits},
		{"priority", func() { b.SetPriority(1 << 31) }, WorsePriority},
		{"health", func() { b.AddHealth(-1) }, WorseHealth},
		{"link", func() { a.SetDown(true) }, LinkDown},
		{"both links", func() { b.SetDown(true); a.SetHealth(999); a.SetPriority(3) }, WorsePriority},
	}, func(c *Choice) bool { return c.Local == a }, isLocal)
}

// TestPreferRemote checks in which order the NIs of a multi-rail peer are preferred.
func TestPreferRemote(t *testing.T) {
	spec.Covers(t, "SP-10")
	const second = "10.0.0.10@tcp"
	w := newWorld(t, here0)
	w.peer(true, peer0, second)
	a, b := w.remote(peer0), w.remote(second)
	w.prefers(w.query(Request, "", second), []step{
		{"equal", func() {}, ComesLater},
		{"last use", func() { a.lastUse.Store(5) }, UsedLater},
		{"messages", func() { b.Begin(1) }, MoreMessages},
		{"preference", func() { b.SetPreference(&Preference{Locals: setOf(w.locals[here0].NID)}) }, NotPreferred},
		{"priority", func() { a.SetPriority(5) }, WorsePriority},
		{"health", func() { a.AddHealth(-1) }, WorseHealth},
		{"status", func() { b.SetDown(true) }, LinkDown},
	}, func(c *Choice) bool { return c.to == a }, isRemote)
}

// TestPreferNet checks in which order nets are preferred. A net has the health of its best NI.
func TestPreferNet(t *testing.T) {
	spec.Covers(t, "SP-11")
	w := newWorld(t, here0, here0b, here1)
	p := w.peer(true, peer0, "10.0.0.10@tcp", peer1)
	w.remote("10.0.0.10@tcp").SetHealth(0)
	w.locals[here0b].SetDown(true)
	w.locals[here0b].SetHealth(0)
	first := func(c *Choice) bool { return c.Local == w.locals[here0] }
	counts := func(c Candidate) bool {
		return c.Remote != nil && c.Remote.NID.String() != "10.0.0.10@tcp"
	}
	w.prefers(w.query(Request, "", peer1), []step{
		{"equal", func() {}, ComesLater},
		{"last use", func() { p.Nets[0].lastUse.Store(5) }, NetUsedLater},
		{"priority of the peer's net", func() { p.Nets[1].SetPriority(5); p.Nets[0].SetPriority(4) }, NetWorsePriority},
		{"health of ours", func() { w.locals[here0].AddHealth(-1) }, NetWorseHealth},
		{"health of the peer's", func() { w.remote(peer1).AddHealth(-1) }, NetWorseHealth},
		{"status", func() { w.remote(peer0).SetDown(true); w.remote("10.0.0.10@tcp").SetDown(true) }, NetWorseHealth},
		{"status of both", func() { w.remote(peer1).SetDown(true); w.remote(peer1).SetHealth(0) }, NetWorseHealth},
		{"link", func() { w.locals[here0].SetDown(true) }, NetLinkDown},
		{"both links", func() { w.locals[here1].SetDown(true) }, NetWorseHealth},
	}, first, counts)
}

// TestOwnLinkBeforeTheirs: a net on which no link of this node is up is not chosen, however bad the peer's NI
// on the other net is reported to be: through that NI the message may arrive, without a link here it cannot.
func TestOwnLinkBeforeTheirs(t *testing.T) {
	spec.Covers(t, "SP-11")
	for what, worse := range map[string]func(*Remote){
		"less health": func(r *Remote) { r.SetHealth(900) },
		"no health":   func(r *Remote) { r.SetHealth(0) },
		"down":        func(r *Remote) { r.SetDown(true) },
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, here0, here1)
			w.peer(true, peer0, peer1)
			worse(w.remote(peer0))
			w.locals[here1].SetDown(true)
			w.want(w.query(Request, "", peer1), 1, here0, peer0, peer0)
		})
	}
}

// TestRouteBesideNet: this node and the peer have a net in common, on which no link of this node is up, and a route
// leads to another net of the peer. Messages take the route if the link to its gateway is up.
func TestRouteBesideNet(t *testing.T) {
	spec.Covers(t, "SP-11", "SP-12")
	w := newWorld(t, here0, here1)
	w.peer(true, peer0, peer2)
	w.route("tcp2", gate1)
	w.want(w.query(Request, "", peer0), 1, here0, peer0, peer0)
	w.locals[here0].SetDown(true)
	w.want(w.query(Request, "", peer0), 2, here1, gate1, peer2)
	w.want(w.query(Reserved, "", peer0), 3, here1, gate1, peer2)
	w.want(w.query(Recovery, "", peer0), 4, here0, peer0, peer0)
	w.locals[here1].SetDown(true)
	w.want(w.query(Request, "", peer0), 5, here0, peer0, peer0)
}

// TestPreferLocalNet: if the peer's nets have the same priority, the priority of this node's
// nets decides.
func TestPreferLocalNet(t *testing.T) {
	w := newWorld(t, here0, here1)
	w.peer(true, peer0, peer1)
	w.table.Nets[0].SetPriority(1)
	for at := range uint64(2) {
		w.want(w.query(Request, "", peer1), at+1, here0, peer0, peer0)
	}
}

// TestPreferRoute checks in which order routes are preferred.
func TestPreferRoute(t *testing.T) {
	spec.Covers(t, "SP-12")
	w := newWorld(t, here0)
	w.peer(false, peer2)
	g, h := w.route("tcp2", gate0), w.route("tcp2", gate0b)
	g.Hops = 1 // the hops of the other route are undefined, which counts as 1, so both routes are equal
	w.prefers(w.query(Request, "", peer2), []step{
		{"equal", func() {}, ComesLater},
		{"last use", func() { g.lastUse.Store(5) }, UsedLater},
		{"messages", func() { h.NI.Begin(0) }, MoreMessages},
		{"bytes", func() { g.NI.Begin(100); g.NI.End(0) }, MoreBytes},
		{"hops", func() { h.Hops = 2 }, MoreHops},
		{"priority", func() { g.Hops = 1; g.Priority = 1 }, WorsePriority},
		{"preference", func() { w.remote(peer2).SetPreference(&Preference{Routers: setOf(g.Router)}) }, NotPreferred},
		{"alive", func() { g.SetAlive(false) }, Dead},
	}, func(c *Choice) bool { return c.Gateway == g }, isGateway)
}

// TestRouteWithoutLink: a route whose gateway is reached by an NI without a link comes last, although it is alive
// until its next check, and although nothing is under way to its gateway.
func TestRouteWithoutLink(t *testing.T) {
	spec.Covers(t, "SP-12")
	w := newWorld(t, here0, here1)
	w.peer(false, peer2)
	g, h := w.route("tcp2", gate0), w.route("tcp2", gate1)
	w.prefers(w.query(Request, "", peer2), []step{
		{"equal", func() {}, ComesLater},
		{"preference", func() { w.remote(peer2).SetPreference(&Preference{Routers: setOf(h.Router)}); g.NI.Begin(1000) }, NotPreferred},
		{"link", func() { w.locals[here1].SetDown(true) }, NetLinkDown},
		{"both links", func() { w.locals[here0].SetDown(true) }, NotPreferred},
	}, func(c *Choice) bool { return c.Gateway == g }, isGateway)
}

// setOf returns the set that has only id.
func setOf(id nid.NID) NIDs {
	s, err := nid.ParseSet(id.String())
	if err != nil {
		panic(err)
	}
	return NIDs{s}
}
