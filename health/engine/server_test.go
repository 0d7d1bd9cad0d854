package engine

import (
	"strings"
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestEvictTable is the state table of evictions: CH-11 to CH-13, CH-29, CH-45, CH-A7, CH-A22.
// The reply lists only exceptions.
func TestEvictTable(t *testing.T) {
	spec.Covers(t, "CH-11", "CH-12", "CH-13", "CH-29", "CH-45", "CH-A1", "CH-A7", "CH-A22")
	tests := []struct {
		name        string
		master      nid.NID // the recorded master of the client's incarnation 5; none: the client is not connected
		incarnation uint64  // the incarnation to evict
		want        string
		code        wire.Code
	}{
		{"CH-11 not connected", nid.NID{}, 5, "bury answer", wire.OK},
		{"CH-A1 newer life", otherA, 4, "answer", wire.Newer},
		{"CH-12 other master", otherB, 5, "answer", wire.OtherMaster},
		{"CH-29 mine", me, 5, "answer", wire.OtherMaster},
		{"order: newer life of another master", otherB, 4, "answer", wire.Newer},
		{"CH-13 CH-45 evict", otherA, 5, "notice:global evicted:timed-out bury answer", wire.OK},
		{"older life", otherA, 6, "notice:global evicted:timed-out bury answer", wire.OK},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHarness(t, nil)
			if tt.master.IsValid() {
				h.connect(5, tt.master, 3)
			}
			r := h.evicted(otherA, tt.incarnation)
			h.want(tt.want)
			if tt.code == wire.OK {
				if len(r.Exceptions) != 0 || r.Evicted+r.Unknown != 1 || (r.Unknown == 1) != !tt.master.IsValid() {
					t.Errorf("reply %+v", r)
				}
				h.wantState("none")
				return
			}
			want := wire.Exception{Code: tt.code, Epoch: 3, Incarnation: 5, Master: tt.master}
			if len(r.Exceptions) != 1 || r.Exceptions[0] != want {
				t.Errorf("reply %+v", r)
			}
		})
	}
}

// TestEvictHostile: evictions that are malformed, or that no server has sent, have no effect.
func TestEvictHostile(t *testing.T) {
	h := newHarness(t, nil)
	h.connect(5, otherA, 1)
	h.evicted(nid.MustParse("10.9.9.9@tcp"), 5)
	h.step(ServerInput{Kind: EvictArrived, Server: otherA, Data: []byte("HEVB")})
	h.want("answer")
	h.evicted(me, 5) // this server's own broadcast arrives at this server
	h.wantState("connected 5 10.0.0.2@tcp/1")
	if st := h.s.Stats(); st.Strangers != 1 || st.Malformed != 1 {
		t.Errorf("%+v", st)
	}
}

// TestTimeout: CH-10, CH-14, CH-15, CH-26: a client that is silent for T_evict is evicted
// everywhere within a tick. Messages other than pings show as well that a client is alive
// (CH-8).
func TestTimeout(t *testing.T) {
	spec.Covers(t, "CH-8", "CH-10", "CH-14", "CH-15", "CH-26", "CH-A8")
	h := newHarness(t, nil)
	h.connect(5, me, 1)
	began := h.now
	evict, tick := h.s.cfg.Evict, h.s.cfg.Tick
	h.advance(evict - time.Second)
	h.want("")
	h.advance(time.Second + tick/10)
	h.want("look")
	// The transport has received another message from the client's node.
	h.step(ServerInput{Kind: Seen, Client: testClient, At: h.now - time.Second})
	heard := h.now - time.Second
	h.advance(heard + evict - h.now - time.Nanosecond)
	if s := h.words(); strings.ReplaceAll(strings.ReplaceAll(s, "ask", ""), "look", "") != strings.Repeat(" ", strings.Count(s, " ")) || !strings.HasPrefix(s, "ask") {
		t.Errorf("it is asked meanwhile: %q", s)
	}
	h.advance(tick + time.Nanosecond)
	if s := h.words(); !strings.HasSuffix(s, "look suspended broadcast1") {
		t.Errorf("after T_evict without any sign of liveness: %q", s)
	}
	if h.now > heard+evict+tick || h.now <= began+evict {
		t.Errorf("evicted at %v", h.now)
	}
	h.wantState("evicting 5 10.0.0.1@tcp/1")
	h.message(host, wire.Message{Kind: wire.Ping, Incarnation: 5})
	h.want("pong:busy")
	// CH-A8: the master removes its own record last, when all other live servers have answered.
	h.done(wire.Reply{Evicted: 1, Unknown: 1}, gone)
	h.want("notice:global evicted:timed-out bury")
	h.message(host, wire.Message{Kind: wire.Ping, Incarnation: 5})
	h.want("pong:global")
}

// TestStampsAreOfReceipt: CH-35, CH-A16: a message that waited in a queue proves that the client
// was alive when the message was received, not when it is handled.
func TestStampsAreOfReceipt(t *testing.T) {
	spec.Covers(t, "CH-35", "CH-A16")
	h := newHarness(t, nil)
	h.connect(5, me, 1)
	received := h.now
	ping := (&wire.Message{Kind: wire.Ping, Client: testClient, Incarnation: 5}).AppendTo(nil)
	h.advance(10 * time.Second)
	h.step(ServerInput{Kind: Arrived, From: host, At: received + time.Second, Data: ping})
	h.want("pong")
	h.advance(received + h.s.cfg.Evict + 1100*time.Millisecond - h.now)
	if !strings.Contains(h.words(), "look") {
		t.Errorf("a late message revived the client: %q", h.words())
	}
}

// TestPausedServer: CH-35, CH-67, CH-A16: a server that was paused does not count the pause as
// part of T_evict of its clients or T_orphan of orphans.
func TestPausedServer(t *testing.T) {
	spec.Covers(t, "CH-35", "CH-67", "CH-A16")
	for pause := 2 * time.Second; pause < 40*time.Second; pause += 1700 * time.Millisecond {
		h := newHarness(t, nil)
		h.connect(5, me, 1)
		h.message(host, wire.Message{Kind: wire.Connect, Client: wire.ClientID{9}, Incarnation: 1, Server: otherA})
		h.step(ServerInput{Kind: ServerHealth, Server: otherA})
		h.advance(4 * time.Second)
		h.now += pause
		h.step(ServerInput{})
		h.want("")
		left := h.s.cfg.Evict - 6500*time.Millisecond // 4 s have passed, and up to two ticks of the pause are perhaps not counted as a pause
		h.advance(left)
		if s := h.words(); strings.Contains(s, "suspended") || strings.Contains(s, "evicted") {
			t.Fatalf("pause of %v: %q", pause, s)
		}
		if p := h.s.Stats().Paused; p <= 0 && pause > 2*time.Second || p > pause {
			t.Errorf("pause of %v counts as %v", pause, p)
		}
		h.advance(15 * time.Second)
		if s := h.words(); !strings.Contains(s, "suspended broadcast1") {
			t.Fatalf("after a pause of %v nobody is evicted: %q", pause, s)
		}
	}
}

// TestBatches: CH-27, CH-A10: the evictions of one tick share broadcasts, of which only a few
// run at a time.
func TestBatches(t *testing.T) {
	spec.Covers(t, "CH-27", "CH-A10")
	h := newHarness(t, nil)
	const n = 2000
	for i := range n {
		h.message(nid.ProcessID{NID: nid.FromNumber(me.Net(), uint32(i)+1<<24), PID: 1},
			wire.Message{Kind: wire.Connect, Client: wire.ClientID{1, byte(i), byte(i >> 8)}, Incarnation: 5, Server: me})
	}
	h.advance(h.s.cfg.Evict + h.s.cfg.Tick)
	broadcasts, evictions := 0, 0
	for pass := 0; ; pass++ {
		var ids []uint64
		for _, e := range h.effects {
			if e.Kind == DoBroadcast {
				r, err := wire.ParseBatch(e.Token.([]byte))
				if err != nil {
					t.Fatal(err)
				}
				broadcasts++
				evictions += r.Entries.Len()
				ids = append(ids, e.ID)
			}
		}
		if len(ids) == 0 {
			break
		}
		if len(ids) > h.s.cfg.MaxBroadcasts {
			t.Fatalf("%d broadcasts at a time", len(ids))
		}
		var all []ServerEffect
		for _, id := range ids {
			h.step(ServerInput{Kind: BroadcastDone, ID: id, Data: (&wire.Reply{}).AppendTo(nil), Servers: []nid.NID{gone}})
			all = append(all, h.effects...)
		}
		h.effects = all
	}
	if most := n/wire.MaxBatch + 1; evictions != n || broadcasts > most {
		t.Errorf("%d evictions in %d broadcasts, more than %d", evictions, broadcasts, most)
	}
	if st := h.s.Status(); st.Clients != 0 || st.Tombstones != n {
		t.Errorf("%+v", st)
	}
}

// TestRetry: CH-28, CH-A9, CH-A22: an eviction is repeated until every live server has answered.
// For a dead server the eviction is kept for T_q.
func TestRetry(t *testing.T) {
	spec.Covers(t, "CH-28", "CH-A9", "CH-A22")
	otherC := nid.MustParse("10.0.0.5@tcp")
	h := newHarness(t, func(c *ServerConfig) { c.Servers = append(c.Servers, otherC) })
	h.step(ServerInput{Kind: ServerHealth, Server: otherC, Alive: true})
	h.advance(4 * h.s.cfg.Tick) // no server is about to come back
	h.connect(5, me, 1)
	h.step(ServerInput{Kind: EvictClient, Client: testClient, Token: 1})
	h.want("suspended result:ok broadcast1")
	h.step(ServerInput{Kind: BroadcastDone, ID: h.batch, Failed: true}) // the broadcast failed, as after ESTALE
	h.want("")
	h.advance(h.s.cfg.Tick)
	h.want("broadcast1")
	h.done(wire.Reply{}, otherA, gone)
	h.want("")
	h.wantState("evicting 5 10.0.0.1@tcp/1")
	h.advance(h.s.cfg.Tick)
	h.want("broadcast1")
	// The server that did not answer dies. Now all live servers have answered.
	h.step(ServerInput{Kind: ServerHealth, Server: otherA})
	h.done(wire.Reply{}, otherA, gone)
	h.want("")
	h.advance(3 * h.s.cfg.Tick) // the server could be back soon
	h.want("notice:global evicted:by-admin bury")
	if n := h.s.Status().Batches; n != 1 {
		t.Errorf("%d batches are owed", n)
	}
	// That server comes back within T_q, and gets the eviction that it missed.
	h.step(ServerInput{Kind: ServerHealth, Server: otherA, Alive: true, Lifetime: 1})
	h.want("broadcast1")
	h.done(wire.Reply{Evicted: 1}, gone)
	h.want("")
	h.advance(h.s.cfg.Quorum + h.s.cfg.Tick)
	if n := h.s.Status().Batches; n != 0 {
		t.Errorf("%d batches are owed after T_q", n)
	}
	h.step(ServerInput{Kind: ServerHealth, Server: gone, Alive: true, Lifetime: 1})
	h.advance(2 * h.s.cfg.Tick)
	h.want("")
}

// TestAlone: if no other server is alive, an eviction needs no broadcast.
func TestAlone(t *testing.T) {
	h := newHarness(t, func(c *ServerConfig) { c.Servers = []nid.NID{me} })
	h.connect(5, me, 1)
	h.connect(6, me, 1)
	h.want("suspended notice:global evicted:rebooted bury save connected accept")
}

// TestEvictionOfMoved: CH-A8, CH-A13: a client has chosen another master, and the old one
// evicted it before it learned of that choice. If another server answers with an exception that
// names the new master, the client stays connected and the eviction is withdrawn, unless the exception is
// about another incarnation.
func TestEvictionOfMoved(t *testing.T) {
	spec.Covers(t, "CH-A8", "CH-A13")
	start := func() *harness {
		h := newHarness(t, nil)
		h.connect(5, me, 1)
		h.step(ServerInput{Kind: EvictClient, Client: testClient})
		return h
	}
	h := start()
	h.done(wire.Reply{Exceptions: []wire.Exception{{Code: wire.OtherMaster, Epoch: 2, Incarnation: 5, Master: otherA}}}, gone)
	h.want("save rehomed notice:other-master(10.0.0.2@tcp) broadcast1")
	h.wantState("connected 5 10.0.0.2@tcp/2")

	h = start()
	h.done(wire.Reply{Exceptions: []wire.Exception{{Code: wire.OtherMaster, Epoch: 2, Incarnation: 5, Master: gone}}}, gone)
	h.want("save rehomed orphaned broadcast1")

	for _, x := range []wire.Exception{
		{Code: wire.OtherMaster, Epoch: 2, Incarnation: 4, Master: otherA},                       // the exception is about an earlier incarnation
		{Code: wire.Newer, Epoch: 2, Incarnation: 6, Master: otherA},                             // the exception is about a later incarnation
		{Code: wire.OtherMaster, Epoch: 2, Incarnation: 5, Master: nid.MustParse("9.9.9.9@tcp")}, // the named master is not a server
		{Index: 3, Code: wire.OtherMaster, Epoch: 2, Incarnation: 5, Master: otherA},             // there is no eviction with this index
	} {
		h = start()
		h.done(wire.Reply{Exceptions: []wire.Exception{x}}, gone)
		h.want("notice:global evicted:by-admin bury")
	}
}

// TestAdmin: an administrator orders evictions; some are refused, with a reason.
func TestAdmin(t *testing.T) {
	h := newHarness(t, nil)
	h.step(ServerInput{Kind: EvictClient, Client: testClient})
	h.want("result:not-connected")
	h.connect(5, otherA, 1)
	h.step(ServerInput{Kind: EvictClient, Client: testClient})
	h.want("result:other-master")
	if h.effects[0].Server != otherA {
		t.Errorf("its master is %v", h.effects[0].Server)
	}
	h.step(ServerInput{Kind: ServerHealth, Server: otherA})
	h.step(ServerInput{Kind: EvictClient, Client: testClient})
	h.want("suspended result:ok broadcast1") // any server may evict a client whose master is dead
}
