package engine

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestTombstones: CH-65, CH-A20: an evicted incarnation is refused until its tombstone expires;
// later incarnations are accepted.
func TestTombstones(t *testing.T) {
	spec.Covers(t, "CH-65", "CH-A20")
	h := newHarness(t, nil)
	h.evicted(otherA, 5) // this client was never connected to this server
	h.connect(5, otherA, 1)
	h.want("reject:global")
	if r := h.last(wire.Reject); r.Incarnation != 5 {
		t.Errorf("%+v", r)
	}
	h.connect(6, otherA, 1)
	h.want("save connected accept")
	h.message(host, wire.Message{Kind: wire.Disconnect, Incarnation: 6})
	h.want("evicted:left bury")
	h.connect(6, otherA, 1)
	h.want("reject:global")
	h.advance(minTombstone + h.s.cfg.Tick)
	if n := h.s.Status().Tombstones; n != 0 {
		t.Errorf("%d tombstones are left", n)
	}
	h.connect(6, otherA, 1)
	h.want("save connected accept")
	h.message(host, wire.Message{Kind: wire.Disconnect, Code: wire.NotConnected, Incarnation: 6}) // the client leaves this server only
	h.want("evicted:left remove")
	h.connect(6, otherA, 1)
	h.want("save connected accept")
}

// TestTombstonesAfterClockJump: a tombstone that was written while the wall clock was a year
// ahead expires no later than others. It does not delay the expiry of others either.
func TestTombstonesAfterClockJump(t *testing.T) {
	h := newHarness(t, nil)
	h.step(ServerInput{Kind: RestoreTombstone, Client: testClient, Incarnation: 5, For: 365 * 24 * time.Hour})
	h.evicted(otherA, 6)
	h.advance(minTombstone + h.s.cfg.Tick)
	if n := h.s.Status().Tombstones; n != 0 {
		t.Errorf("%d tombstones are left", n)
	}
}

// TestTombstonesAreBounded: the oldest tombstone is removed to make room for a new one, and
// evicting one client over and over takes no more room. A tombstone has at most the size that
// docs/client-health.md says.
func TestTombstonesAreBounded(t *testing.T) {
	if n := unsafe.Sizeof(tombstone{}); n > 64 {
		t.Errorf("a tombstone has %d bytes", n)
	}
	var g tombstones
	g.init(100)
	forgot := uint64(0)
	for i := range 1000 {
		forgot += g.bury(wire.ClientID{1, byte(i), byte(i >> 8)}, 1, time.Duration(i), nid.NID{}, 0)
	}
	if len(g.incarnations) != 100 || forgot != 900 {
		t.Errorf("%d lives, %d forgotten", len(g.incarnations), forgot)
	}
	for i := range 10_000 {
		g.bury(wire.ClientID{1, 231, 3}, uint64(i), time.Duration(1000+i), nid.NID{}, 0)
	}
	if len(g.queue) > 300 || len(g.incarnations) != 100 {
		t.Errorf("%d places for %d lives", len(g.queue), len(g.incarnations))
	}
	g.expire(10_998)
	if _, ok := g.covers(wire.ClientID{1, 231, 3}, 9_999); !ok || len(g.incarnations) != 1 {
		t.Errorf("%d lives are left", len(g.incarnations))
	}
	g.expire(10_999)
	if len(g.incarnations) != 0 || len(g.queue) != 0 {
		t.Error("they stay")
	}
}

// TestDigest: CH-65, CH-A20: a server asks masters to confirm the clients that are connected
// here and whose masters they are. A client that its master does not know becomes an orphan, and
// is evicted in the end.
func TestDigest(t *testing.T) {
	spec.Covers(t, "CH-65", "CH-A20")
	h := newHarness(t, nil)
	h.connect(5, otherA, 1)
	ghost := wire.ClientID{8}
	h.message(nid.ProcessID{NID: otherB, PID: 3}, wire.Message{Kind: wire.Connect, Client: ghost, Incarnation: 1, Server: otherA})
	h.advance(h.s.cfg.Evict + h.s.cfg.Tick)
	digest := h.last(wire.Digest)
	if digest.Entries.Len() != 2 || digest.Entries.At(0).Mark != 0 {
		t.Fatalf("digest of %d", digest.Entries.Len())
	}
	server := nid.ProcessID{NID: otherA, PID: nid.LustrePID}
	h.message(host, wire.Message{Kind: wire.DigestReply, Entries: entries(wire.Entry{Client: testClient, Incarnation: 5})}) // the sender is no server
	h.want("")
	h.message(server, wire.Message{Kind: wire.DigestReply, Entries: entries(wire.Entry{Client: ghost, Incarnation: 1}, wire.Entry{Client: testClient, Incarnation: 4})})
	h.want("orphaned")
	h.wantState("connected 5 10.0.0.2@tcp/1")
	if h.s.Stats().Ghosts != 1 || h.s.Stats().Strangers != 1 {
		t.Errorf("%+v", h.s.Stats())
	}
	h.advance(h.s.cfg.Orphan + h.s.cfg.Tick)
	if s := h.words(); !strings.Contains(s, "notice:global evicted:lost-master bury") {
		t.Errorf("got %q", s)
	}

	// In the other direction: another server asks this one to confirm a client that it does not
	// know.
	h = newHarness(t, nil)
	h.connect(5, me, 1)
	h.message(server, wire.Message{Kind: wire.Digest, Entries: entries(wire.Entry{Client: testClient, Incarnation: 5})})
	h.want("")
	h.message(server, wire.Message{Kind: wire.Digest, Entries: entries(
		wire.Entry{Client: testClient, Incarnation: 5, Mark: markConfirm}, wire.Entry{Client: testClient, Incarnation: 4, Mark: markConfirm}, wire.Entry{Client: ghost, Incarnation: 1})})
	h.want("digest-reply")
	var got []wire.Entry
	for reply, i := h.last(wire.DigestReply), 0; i < reply.Entries.Len(); i++ {
		got = append(got, reply.Entries.At(i))
	}
	if want := []wire.Entry{{Client: testClient, Incarnation: 5, Mark: markKnown, Epoch: 0}, {Client: testClient, Incarnation: 4, Mark: 0, Epoch: 0}, {Client: ghost, Incarnation: 1, Mark: 0, Epoch: 0}}; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// TestRecovery: CH-66, CH-67, CH-A9: after a restart, a server's own clients count as heard at
// that instant. The other clients wait until their masters confirm them.
func TestRecovery(t *testing.T) {
	spec.Covers(t, "CH-66", "CH-67", "CH-A9", "CH-A19")
	start := func(master nid.NID) *harness {
		s, err := NewServer(ServerConfig{Self: me, Incarnation: 78, Servers: []nid.NID{me, otherA, otherB}, Uneven: true})
		if err != nil {
			t.Fatal(err)
		}
		h := &harness{t: t, s: s, now: time.Hour}
		h.step(ServerInput{Kind: Restore, Record: &Record{Client: testClient, Incarnation: 5, Master: master, Epoch: 2, Peer: host, Name: "host"}})
		h.want("recovered")
		h.step(ServerInput{Kind: RestoreTombstone, Client: wire.ClientID{4}, Incarnation: 3, For: time.Minute})
		h.step(ServerInput{Kind: ServerHealth, Server: otherA, Alive: true})
		h.step(ServerInput{Kind: QuorumIs, Alive: true})
		return h
	}
	server := nid.ProcessID{NID: otherA, PID: nid.LustrePID}

	h := start(me)
	h.wantState("recovering 5 10.0.0.1@tcp/2")
	h.message(server, wire.Message{Kind: wire.Digest, Entries: entries(wire.Entry{Client: testClient, Incarnation: 5, Mark: markConfirm})})
	h.want("")
	h.advance(h.s.cfg.Evict - time.Second)
	h.want("notice:orphaned notice:orphaned notice:orphaned notice:orphaned")
	h.message(host, wire.Message{Kind: wire.Connect, Client: wire.ClientID{4}, Incarnation: 3, Server: me})
	h.want("reject:global")
	h.message(host, wire.Message{Kind: wire.Ping, Incarnation: 5, Epoch: 1})
	h.want("pong:orphaned")
	h.message(host, wire.Message{Kind: wire.Ping, Incarnation: 5, Epoch: 2})
	h.want("rehomed pong")
	if p := h.last(wire.Pong); p.Code != wire.OK || p.ServerIncarnation != 78 { // CH-A19: the client sees that the server was restarted
		t.Errorf("%+v", p)
	}

	h = start(me) // the client's process has ended
	h.advance(h.s.cfg.Evict + h.s.cfg.Tick)
	if s := h.words(); !strings.HasSuffix(s, "look suspended broadcast1") {
		t.Errorf("got %q", s)
	}
	h = start(me) // a later incarnation of the client connects
	h.connect(6, otherA, 1)
	h.want("suspended broadcast1")

	h = start(otherA)
	h.wantState("recovering 5 10.0.0.2@tcp/2")
	h.advance(h.s.cfg.Tick)
	if d := h.last(wire.Digest); d.Entries.Len() != 1 || d.Entries.At(0) != (wire.Entry{Client: testClient, Incarnation: 5, Mark: markConfirm}) {
		t.Errorf("digest %+v", d)
	}
	h.message(server, wire.Message{Kind: wire.DigestReply, Entries: entries(wire.Entry{Client: testClient, Incarnation: 5, Mark: markKnown})})
	h.want("rehomed notice:other-master(10.0.0.2@tcp)") // the notice shows the client that it is connected here; the client may have given this server up
	h.wantState("connected 5 10.0.0.2@tcp/2")

	h = start(otherA) // the client itself ends the recovery by a Choose, before its master confirms it
	h.message(host, wire.Message{Kind: wire.Choose, Incarnation: 5, Epoch: 2, Server: otherA})
	h.want("save rehomed chosen")

	h = start(otherA) // this server missed an eviction before its restart: the client's master repeats it
	if r := h.evicted(otherA, 5); r.Evicted != 1 {
		t.Errorf("%+v", r)
	}

	h = start(otherB) // no master confirms that the client is connected
	h.advance(h.s.cfg.Orphan + h.s.cfg.Tick)
	if s := h.words(); !strings.Contains(s, "notice:orphaned") || !strings.Contains(s, "notice:global evicted:lost-master bury") {
		t.Errorf("got %q", s)
	}
	h = start(nid.MustParse("9.9.9.9@tcp")) // no master confirms a client whose master has left the cluster
	h.wantState("recovering 5 9.9.9.9@tcp/2")
}

// TestDrain: a draining server asks its clients to choose other masters, and refuses new ones.
func TestDrain(t *testing.T) {
	h := newHarness(t, nil)
	h.connect(5, me, 1)
	h.message(nid.ProcessID{NID: otherB, PID: 3}, wire.Message{Kind: wire.Connect, Client: wire.ClientID{9}, Incarnation: 1, Server: me})
	h.step(ServerInput{Kind: Drain, Count: 1})
	h.want("notice:draining")
	h.step(ServerInput{Kind: Drain, Alive: true})
	h.want("notice:draining notice:draining digest:draining digest:draining")
	h.message(host, wire.Message{Kind: wire.Ping, Incarnation: 5})
	h.want("pong:draining")
	h.message(host, wire.Message{Kind: wire.Choose, Incarnation: 5, Epoch: 2, Server: otherA})
	h.want("save rehomed chosen")
	h.advance(h.s.cfg.Ping)
	h.want("notice:draining")
	h.message(host, wire.Message{Kind: wire.Connect, Client: wire.ClientID{7}, Incarnation: 1, Server: me})
	h.want("reject:draining")
	h.message(host, wire.Message{Kind: wire.Connect, Client: wire.ClientID{7}, Incarnation: 1, Server: otherA})
	h.want("save connected accept")
	h.step(ServerInput{Kind: Drain})
	h.message(host, wire.Message{Kind: wire.Connect, Client: wire.ClientID{6}, Incarnation: 1, Server: me})
	h.want("save connected accept")
}

// TestTiming: CH-57, CH-A3, CH-A4: times that contradict each other are refused, and the error
// says what to change.
func TestTiming(t *testing.T) {
	spec.Covers(t, "CH-57", "CH-A3", "CH-A4")
	d, err := Timing{}.Filled()
	if err != nil {
		t.Fatal(err)
	}
	if d.Ping != 5*time.Second || d.Client != 7500*time.Millisecond || d.Evict != 17500*time.Millisecond || d.Orphan != 22500*time.Millisecond {
		t.Errorf("defaults %+v", d)
	}
	for _, tt := range []struct {
		name   string
		timing Timing
		want   string
	}{
		{"CH-57", Timing{Evict: 5 * time.Second}, "not longer than the ping interval"},
		{"CH-A4", Timing{Evict: 15 * time.Second}, "three ping intervals"},
		{"CH-A3 evict", Timing{Evict: 17 * time.Second}, "needs up to 17.5s"},
		{"CH-A3 elect", Timing{Elect: 6 * time.Second}, "needs up to 18.5s"},
		{"CH-A3 orphan", Timing{Orphan: 12 * time.Second}, "orphans have 12s"},
		{"client", Timing{Client: 5 * time.Second}, "clients' time-out"},
		{"try", Timing{Try: 3 * time.Second}, "cannot try two"},
		{"negative", Timing{Tick: -1}, "negative"},
	} {
		if _, err := tt.timing.Filled(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if _, err := (Timing{Ping: time.Second, Quorum: -1}).Filled(); err != nil {
		t.Errorf("one second: %v", err)
	}
	if _, err := NewServer(ServerConfig{Self: me}); err == nil {
		t.Error("a server that is not among the servers")
	}
}
