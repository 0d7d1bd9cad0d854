package engine

import (
	"math"
	"slices"
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestConnectAhead: CH-A1: the number of an incarnation is the time of a wall clock, or one more
// than the number before. A number that is years ahead would leave no numbers for later
// incarnations. The server refuses such a number, whether a client sends it or another server
// reports it.
func TestConnectAhead(t *testing.T) {
	spec.Covers(t, "CH-A1")
	const wall = uint64(1_800_000_000_000_000_000)
	h := newHarness(t, func(c *ServerConfig) { c.Incarnation = wall })
	for _, incarnation := range []uint64{math.MaxUint64, math.MaxUint64 - 1, wall + uint64(incarnationMargin) + 1} {
		h.connect(incarnation, otherA, 1)
		h.want("reject:ahead")
	}
	if n := h.s.Stats().Rejected[wire.Ahead]; n != 3 {
		t.Errorf("%d refused", n)
	}
	h.advance(time.Second) // the server's own clock advances as well
	forged := wall + uint64(incarnationMargin+time.Second)
	h.connect(forged+1, otherA, 1)
	h.want("reject:ahead")
	h.connect(forged, otherA, 1)
	h.wantState("connected 1831622401000000000 10.0.0.2@tcp/1")
	h.connect(wall, otherA, 1) // the true client learns that its number is too low, and takes the next higher one
	h.want("reject:stale")
	next := h.last(wire.Reject).Incarnation + 1
	h.connect(next, otherA, 1)
	if got, _ := h.s.Client(testClient); got.Incarnation != forged+1 {
		t.Errorf("%+v", got)
	}
	// A server that does not know the id compares the number with the wall clock alone. By now the
	// clock has advanced, so the server accepts the number.
	h = newHarness(t, func(c *ServerConfig) { c.Incarnation = wall + uint64(2*time.Second) })
	h.connect(next, otherA, 1)
	h.want("save connected accept")
	// If the incarnation in an eviction is within the bound, numbers a little above it are accepted as
	// well.
	h = newHarness(t, func(c *ServerConfig) { c.Incarnation = wall })
	h.evicted(otherA, wall+uint64(incarnationMargin))
	h.connect(wall+uint64(incarnationMargin)+1, otherA, 1)
	h.want("save connected accept")
	// Near the highest number the bound is that number, instead of a sum that overflows.
	h = newHarness(t, func(c *ServerConfig) { c.Incarnation = math.MaxUint64 - 5 })
	h.connect(math.MaxUint64, otherA, 1)
	h.want("save connected accept")
}

// TestLadder: an attacker tries to reach the highest number by a series of accepted
// incarnations. The attacker cannot, because above the margin each number may be only a little
// higher than the one before.
func TestLadder(t *testing.T) {
	spec.Covers(t, "CH-70")
	const wall = uint64(1_800_000_000_000_000_000)
	h := newHarness(t, func(c *ServerConfig) { c.Incarnation, c.MaxIncarnations = wall, 1000 })
	highest := uint64(0)
	for range 100 {
		incarnation := h.s.believed(testClient)
		h.connect(incarnation, otherA, 1)
		if highest = incarnation; h.last(wire.Accept).Incarnation != incarnation {
			t.Fatalf("life %d is not accepted", incarnation)
		}
	}
	if most := wall + uint64(incarnationMargin) + 100*incarnationStep; highest > most {
		t.Errorf("life %d, want %d at most", highest, most)
	}
	h.connect(wall+5, otherA, 1)
	h.want("reject:stale")
	next := h.last(wire.Reject).Incarnation + 1
	h.connect(next, otherA, 1)
	if got, _ := h.s.Client(testClient); got.Incarnation != next {
		t.Errorf("the client itself cannot go on: %+v", got)
	}
}

// TestFarTombstone: CH-65: another server evicts an incarnation whose number is too high to be
// credible. The server ends the connection of the client, if there is one, but keeps no
// tombstone, which would bar all later incarnations.
func TestFarTombstone(t *testing.T) {
	spec.Covers(t, "CH-65")
	const wall = uint64(1_800_000_000_000_000_000)
	for _, known := range []bool{false, true} {
		for _, incarnation := range []uint64{math.MaxUint64, math.MaxUint64 - 1, 1 << 63, wall + uint64(incarnationMargin) + incarnationStep + 1} {
			h := newHarness(t, func(c *ServerConfig) { c.Incarnation = wall })
			if known {
				h.connect(wall, otherA, 1)
			}
			h.evicted(otherA, incarnation)
			if n := h.s.Stats().Ahead; n != 1 {
				t.Errorf("%d: %d are beyond belief", incarnation, n)
			}
			next := wall + 1
			h.connect(next, otherA, 1)
			if got, ok := h.s.Client(testClient); !ok || got.Incarnation != next {
				t.Errorf("%d, connected before %v: %+v", incarnation, known, got)
			}
		}
	}
}

// TestFlapsOfOthers: the number of restarts of a client is limited. Attempts of another node to connect
// with the client's id are not counted as restarts of the client's own node.
func TestFlapsOfOthers(t *testing.T) {
	spec.Covers(t, "CH-70")
	h := newHarness(t, nil)
	foreign := host
	foreign.NID = nid.MustParse("10.1.0.9@tcp")
	for incarnation := range uint64(20) {
		h.message(foreign, wire.Message{Kind: wire.Connect, Incarnation: 100 + incarnation, Server: otherA, Epoch: 1, Name: []byte("host")})
	}
	h.want("reject:flapping")
	h.connect(200, otherA, 1)
	h.want("reject:busy ask:stale") // not refused for too many restarts: the server first asks the connected process, that of the foreign node
	h.advance(h.s.cfg.Evict)
	if got, _ := h.s.Client(testClient); got.Incarnation != 200 || got.Peer != host {
		t.Errorf("%+v", got)
	}
}

// TestStaleByFew: a connected client gives up its incarnation if its master, or more than half of the
// servers, report a later one. If fewer servers report that, and the master does not, the client loses
// only its connections to these servers.
func TestStaleByFew(t *testing.T) {
	spec.Covers(t, "CH-70")
	list := []nid.NID{me, otherA, otherB, gone, nid.MustParse("10.0.0.5@tcp")}
	h := newClientHarness(t, list...)
	master := h.settled()
	others := slices.DeleteFunc(slices.Clone(list), func(id nid.NID) bool { return id == master })
	word := wire.Message{Kind: wire.Notice, Code: wire.Stale, Incarnation: 99}
	for i, id := range others[:3] {
		if h.c.phase != settled || h.c.incarnation != 5 {
			t.Fatalf("%d of %d servers end it", i, len(list))
		}
		h.from(id, word)
		if i < 2 && h.told != "dropped:stale" {
			t.Errorf("told %q", h.told)
		}
	}
	if h.told != "superseded:stale" {
		t.Errorf("most servers do not end it: told %q", h.told)
	}
	h = newClientHarness(t, list...)
	h.from(h.settled(), word)
	h.want("superseded:stale")
}

// TestClientNumbers: a server that invents incarnations and epochs costs a client its connection
// to that server, and no other connection.
func TestClientNumbers(t *testing.T) {
	spec.Covers(t, "CH-70")
	h := newClientHarness(t, me, otherA)
	h.answer(0, wire.Message{Kind: wire.Reject, Code: wire.Stale, Incarnation: 1 << 63})
	h.now = h.wake
	h.step(ClientInput{})
	if h.sent[0].Incarnation != 1<<63+1 {
		t.Fatalf("connects as %d", h.sent[0].Incarnation)
	}
	h.answer(0, wire.Message{Kind: wire.Reject, Code: wire.Ahead})
	h.now = h.wake
	h.step(ClientInput{})
	if got := h.sent[0].Incarnation; got < 5 || got > 10 {
		t.Fatalf("goes on as %d", got)
	}
	h.settled()
	epoch := h.c.epoch
	for _, e := range []uint32{math.MaxUint32, 1 << 31, 1 << 24} {
		h.from(h.c.master, wire.Message{Kind: wire.Pong, Code: wire.OtherMaster, Epoch: e, ServerIncarnation: 7})
		if h.c.epoch > epoch+5 {
			t.Errorf("epoch %d after %d, told %d", h.c.epoch, epoch, e)
		}
		for h.c.phase != settled {
			if len(h.sent) == 0 {
				h.now = h.wake
				h.step(ClientInput{})
				continue
			}
			kind := wire.Accept
			if h.sent[0].Kind == wire.Choose {
				kind = wire.Chosen
			}
			h.answer(0, wire.Message{Kind: kind, ServerIncarnation: 7})
		}
	}
}

// TestClientLastIncarnation: a client ignores a report of an incarnation with the highest
// possible number.
func TestClientLastIncarnation(t *testing.T) {
	h := newClientHarness(t, me, otherA)
	asked, to := h.sent, h.to
	h.answer(0, wire.Message{Kind: wire.Reject, Code: wire.Stale, Incarnation: math.MaxUint64})
	h.want("")
	h.sent, h.to = asked, to
	h.answer(0, wire.Message{Kind: wire.Accept})
	h.want("attached master-chosen")
	h.from(h.c.master, wire.Message{Kind: wire.Notice, Code: wire.Global, Incarnation: math.MaxUint64})
	h.want("")
	if st := h.c.Stats(); st.Stray != 2 {
		t.Errorf("%+v", st)
	}
}

// TestDoubtMaster: a client whose program doubts the master pings the master at once, and only
// once.
func TestDoubtMaster(t *testing.T) {
	h := newClientHarness(t, me, otherA)
	master := h.settled()
	h.now += time.Second
	h.step(ClientInput{Kind: Doubt, Server: master})
	h.want("", wire.Ping)
	h.step(ClientInput{Kind: Doubt, Server: master})
	h.want("")
	h.from(master, wire.Message{Kind: wire.Pong, Code: wire.NotConnected, ServerIncarnation: 7})
	if h.told != "dropped:not-connected master-lost:not-connected" {
		t.Errorf("told %q", h.told)
	}
}

// TestTwoWithOneID: CH-A1: two nodes use one id. The node that connected first stays connected,
// whatever the incarnation number of the other node, which is refused as foreign.
func TestTwoWithOneID(t *testing.T) {
	spec.Covers(t, "CH-A1")
	for seed := range uint64(10) {
		w := populated(t, 300+seed, 4)
		first := w.clients[0]
		first.kill()
		first.start()
		w.run(10 * time.Second)
		second := w.add(0, 1, 2, 3, 4)
		second.kill()
		second.name, second.incarnation = first.name, seed%2*2 // 0 or 2: lower or higher than the number of the first node
		second.start()
		w.run(2 * time.Minute)
		if st := first.m.Status(); st.State != "settled" || first.count(Superseded)+first.count(Evicted) != 0 || len(w.holders(first)) != 5 {
			w.fail("the first is %+v, superseded %d times, evicted %d", st, first.count(Superseded), first.count(Evicted))
		}
		if st := second.m.Status(); st.State != "electing" || len(st.Answers) == 0 {
			w.fail("the second is %+v", st)
		}
		first.kill()
		w.run(time.Minute) // longer than T_evict and the back-off of the second node
		if st := second.m.Status(); st.State != "settled" || len(w.holders(second)) != 5 {
			w.fail("the first is gone, the second is %+v", st)
		}
		for _, s := range w.servers {
			if n := s.m.Stats().Rejected[wire.Flapping]; n != 0 {
				t.Errorf("flapping: %d", n)
			}
		}
	}
}
