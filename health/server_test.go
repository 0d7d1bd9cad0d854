package health

import (
	"strings"
	"testing"
	"time"

	"ulnet/lnet/nid"
)

// TestEvictTable is the state table of evictions: CH-11 to CH-13, CH-29, CH-45,
// CH-A7, CH-A22: the reply lists exceptions only.
func TestEvictTable(t *testing.T) {
	tests := []struct {
		name   string
		master nid.NID // of the connection, life 5; none: not connected
		life   uint64  // to evict
		want   string
		code   Code
	}{
		{"CH-11 not connected", nid.NID{}, 5, "bury answer", OK},
		{"CH-A1 newer life", otherA, 4, "answer", Newer},
		{"CH-12 other master", otherB, 5, "answer", OtherMaster},
		{"CH-29 mine", me, 5, "answer", OtherMaster},
		{"order: newer life of another master", otherB, 4, "answer", Newer},
		{"CH-13 CH-45 evict", otherA, 5, "notice:global evicted:timed-out bury answer", OK},
		{"older life", otherA, 6, "notice:global evicted:timed-out bury answer", OK},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHarness(t, nil)
			if tt.master.IsValid() {
				h.connect(5, tt.master, 3)
			}
			r := h.evicted(otherA, tt.life)
			h.want(tt.want)
			if tt.code == OK {
				if len(r.Exceptions) != 0 || r.Evicted+r.Unknown != 1 || (r.Unknown == 1) != !tt.master.IsValid() {
					t.Errorf("reply %+v", r)
				}
				h.wantState("none")
				return
			}
			want := Exception{Code: tt.code, Epoch: 3, Incarnation: 5, Master: tt.master}
			if len(r.Exceptions) != 1 || r.Exceptions[0] != want {
				t.Errorf("reply %+v", r)
			}
		})
	}
}

// TestEvictHostile: evictions that are malformed, or of who is no server, evict nobody.
func TestEvictHostile(t *testing.T) {
	h := newHarness(t, nil)
	h.connect(5, otherA, 1)
	h.evicted(nid.MustParse("10.9.9.9@tcp"), 5)
	h.step(ServerInput{Kind: EvictArrived, Server: otherA, Data: []byte("HEVB")})
	h.want("answer")
	h.evicted(me, 5) // our own broadcast
	h.wantState("connected 5 10.0.0.2@tcp/1")
	if st := h.s.Stats(); st.Strangers != 1 || st.Malformed != 1 {
		t.Errorf("%+v", st)
	}
}

// TestTimeout: CH-10, CH-14, CH-15, CH-26: who is silent for T_evict is evicted
// everywhere within a tick; other signs of life than pings count (CH-8).
func TestTimeout(t *testing.T) {
	h := newHarness(t, nil)
	h.connect(5, me, 1)
	began := h.now
	evict, tick := h.s.cfg.Evict, h.s.cfg.Tick
	h.advance(evict - time.Second)
	h.want("")
	h.advance(time.Second + tick/10)
	h.want("look")
	// The transport has heard of it: not a ping.
	h.step(ServerInput{Kind: Seen, Client: testClient, At: h.now - time.Second})
	heard := h.now - time.Second
	h.advance(heard + evict - h.now - time.Nanosecond)
	h.want("")
	h.advance(tick + time.Nanosecond)
	h.want("look suspended broadcast1")
	if h.now > heard+evict+tick || h.now <= began+evict {
		t.Errorf("evicted at %v", h.now)
	}
	h.wantState("evicting 5 10.0.0.1@tcp/1")
	h.message(host, Message{Kind: Ping, Incarnation: 5})
	h.want("pong:busy")
	// CH-A8: the master's own record goes last.
	h.done(Reply{Evicted: 1, Unknown: 1}, gone)
	h.want("notice:global evicted:timed-out bury")
	h.message(host, Message{Kind: Ping, Incarnation: 5})
	h.want("pong:global")
}

// TestStampsAreOfReceipt: CH-35, CH-A16: a message that waited in a queue is a
// sign of life of when it was received.
func TestStampsAreOfReceipt(t *testing.T) {
	h := newHarness(t, nil)
	h.connect(5, me, 1)
	received := h.now
	ping := (&Message{Kind: Ping, Client: testClient, Incarnation: 5}).AppendBinary(nil)
	h.advance(10 * time.Second)
	h.step(ServerInput{Kind: Arrived, From: host, At: received + time.Second, Data: ping})
	h.want("pong")
	h.advance(received + h.s.cfg.Evict + 1100*time.Millisecond - h.now)
	if !strings.Contains(h.words(), "look") {
		t.Errorf("a late message revived the client: %q", h.words())
	}
}

// TestPausedServer: CH-35, CH-67, CH-A16: a server that stood still evicts nobody
// for the time in which it heard nothing, also orphans.
func TestPausedServer(t *testing.T) {
	for pause := 2 * time.Second; pause < 40*time.Second; pause += 1700 * time.Millisecond {
		h := newHarness(t, nil)
		h.connect(5, me, 1)
		h.message(host, Message{Kind: Connect, Client: ClientID{9}, Incarnation: 1, Server: otherA})
		h.step(ServerInput{Kind: ServerHealth, Server: otherA})
		h.advance(4 * time.Second)
		h.now += pause
		h.step(ServerInput{})
		h.want("")
		left := h.s.cfg.Evict - 6500*time.Millisecond // a pause shows a tick late, and not below a tick
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

// TestBatches: CH-27, CH-A10: the deaths of a tick share broadcasts, of which a
// few are under way at a time.
func TestBatches(t *testing.T) {
	h := newHarness(t, nil)
	const n = 2000
	for i := range n {
		h.message(nid.ProcessID{NID: nid.FromNumber(me.Net(), uint32(i)+1<<24), PID: 1},
			Message{Kind: Connect, Client: ClientID{1, byte(i), byte(i >> 8)}, Incarnation: 5, Server: me})
	}
	h.advance(h.s.cfg.Evict + h.s.cfg.Tick)
	broadcasts, evictions := 0, 0
	for pass := 0; ; pass++ {
		var ids []uint64
		for _, e := range h.effects {
			if e.Kind == DoBroadcast {
				r, err := ParseBatch(e.Token.([]byte))
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
			h.step(ServerInput{Kind: BroadcastDone, ID: id, Data: (&Reply{}).AppendBinary(nil), Servers: []nid.NID{gone}})
			all = append(all, h.effects...)
		}
		h.effects = all
	}
	if most := n/MaxBatch + 1; evictions != n || broadcasts > most {
		t.Errorf("%d evictions in %d broadcasts, more than %d", evictions, broadcasts, most)
	}
	if st := h.s.Status(); st.Clients != 0 || st.Tombstones != n {
		t.Errorf("%+v", st)
	}
}

// TestRetry: CH-28, CH-A9, CH-A22: an eviction is repeated until every live server has
// answered; one that is dead is owed it for T_q.
func TestRetry(t *testing.T) {
	otherC := nid.MustParse("10.0.0.5@tcp")
	h := newHarness(t, func(c *ServerConfig) { c.Servers = append(c.Servers, otherC) })
	h.step(ServerInput{Kind: ServerHealth, Server: otherC, Alive: true})
	h.connect(5, me, 1)
	h.step(ServerInput{Kind: EvictClient, Client: testClient, Token: 1})
	h.want("suspended result:ok broadcast1")
	h.step(ServerInput{Kind: BroadcastDone, ID: h.batch, Failed: true}) // as ESTALE
	h.want("")
	h.advance(h.s.cfg.Tick)
	h.want("broadcast1")
	h.done(Reply{}, otherA, gone)
	h.want("")
	h.wantState("evicting 5 10.0.0.1@tcp/1")
	h.advance(h.s.cfg.Tick)
	h.want("broadcast1")
	// The one that did not answer dies: all live ones have answered.
	h.step(ServerInput{Kind: ServerHealth, Server: otherA})
	h.done(Reply{}, otherA, gone)
	h.want("notice:global evicted:by-admin bury")
	if n := h.s.Status().Batches; n != 1 {
		t.Errorf("%d batches are owed", n)
	}
	// It comes back within T_q, and gets what it missed.
	h.step(ServerInput{Kind: ServerHealth, Server: otherA, Alive: true, Lifetime: 1})
	h.want("broadcast1")
	h.done(Reply{Evicted: 1}, gone)
	h.want("")
	h.advance(h.s.cfg.Quorum + h.s.cfg.Tick)
	if n := h.s.Status().Batches; n != 0 {
		t.Errorf("%d batches are owed after T_q", n)
	}
	h.step(ServerInput{Kind: ServerHealth, Server: gone, Alive: true, Lifetime: 1})
	h.advance(2 * h.s.cfg.Tick)
	h.want("")
}

// TestAlone: with no other server alive an eviction needs no broadcast.
func TestAlone(t *testing.T) {
	h := newHarness(t, func(c *ServerConfig) { c.Servers = []nid.NID{me} })
	h.connect(5, me, 1)
	h.connect(6, me, 1)
	h.want("suspended notice:global evicted:rebooted bury save connected accept")
}

// TestEvictionOfMoved: CH-A8, CH-A13: a client whose other master the old one had
// not heard of stays connected under that, unless the word is of another life.
func TestEvictionOfMoved(t *testing.T) {
	start := func() *harness {
		h := newHarness(t, nil)
		h.connect(5, me, 1)
		h.step(ServerInput{Kind: EvictClient, Client: testClient})
		return h
	}
	h := start()
	h.done(Reply{Exceptions: []Exception{{Code: OtherMaster, Epoch: 2, Incarnation: 5, Master: otherA}}}, gone)
	h.want("save rehomed notice:other-master(10.0.0.2@tcp)")
	h.wantState("connected 5 10.0.0.2@tcp/2")

	h = start()
	h.done(Reply{Exceptions: []Exception{{Code: OtherMaster, Epoch: 2, Incarnation: 5, Master: gone}}}, gone)
	h.want("save rehomed orphaned")

	for _, x := range []Exception{
		{Code: OtherMaster, Epoch: 2, Incarnation: 4, Master: otherA},                       // an earlier life
		{Code: Newer, Epoch: 2, Incarnation: 6, Master: otherA},                             // a later one
		{Code: OtherMaster, Epoch: 2, Incarnation: 5, Master: nid.MustParse("9.9.9.9@tcp")}, // no server
		{Index: 3, Code: OtherMaster, Epoch: 2, Incarnation: 5, Master: otherA},             // no eviction
	} {
		h = start()
		h.done(Reply{Exceptions: []Exception{x}}, gone)
		h.want("notice:global evicted:by-admin bury")
	}
}

// TestAdmin: manual evictions, and why they are refused.
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
	h.want("result:orphaned")
}

// TestOrphan: CH-18, CH-19, CH-20, CH-A19, CH-54, CH-67, CH-68: the clients of a
// dead master are told after a third of their time, and evicted in the end.
func TestOrphan(t *testing.T) {
	start := func() *harness {
		h := newHarness(t, nil)
		h.connect(5, otherA, 1)
		h.step(ServerInput{Kind: ServerHealth, Server: otherA})
		h.want("orphaned")
		return h
	}
	h := start()
	orphan := h.s.cfg.Orphan
	h.advance(orphan/3 - time.Second)
	h.want("")
	h.message(host, Message{Kind: Ping, Incarnation: 5})
	h.want("pong:orphaned")
	h.advance(time.Second + h.s.cfg.Tick/10)
	h.want("notice:orphaned")
	if n := h.last(Notice); n.Server != otherA || n.Epoch != 1 || n.Incarnation != 5 || n.Life != 77 {
		t.Errorf("notice %+v", n)
	}
	h.advance(orphan*2/3 - time.Second)
	h.want("notice:orphaned notice:orphaned notice:orphaned")
	h.advance(time.Second + h.s.cfg.Tick)
	h.want("notice:global evicted:lost-master bury")

	h = start()
	h.message(host, Message{Kind: Choose, Incarnation: 5, Epoch: 2, Server: otherB})
	h.want("save rehomed chosen")
	h.wantState("connected 5 10.0.0.3@tcp/2")

	// A death that discovery missed shows in the number of deaths.
	h = newHarness(t, nil)
	h.connect(5, otherA, 1)
	h.step(ServerInput{Kind: ServerHealth, Server: otherA, Alive: true, Lifetime: 1})
	h.want("orphaned")

	// A server that leaves the cluster.
	h = newHarness(t, nil)
	h.connect(5, otherA, 1)
	h.step(ServerInput{Kind: SetServers, Servers: []nid.NID{me, otherB}})
	h.want("orphaned")
}

// TestChoose: CH-17, CH-51, CH-62, CH-A2, CH-A18: choices of a master, in and out
// of order.
func TestChoose(t *testing.T) {
	tests := []struct {
		name   string
		master nid.NID
		epoch  uint32
		life   uint64
		setup  func(*harness)
		want   string
		state  string
	}{
		{"another", otherB, 3, 5, nil, "save rehomed chosen", "connected 5 10.0.0.3@tcp/3"},
		{"me", me, 3, 5, nil, "save rehomed chosen", "connected 5 10.0.0.1@tcp/3"},
		{"repeated", otherA, 2, 5, nil, "chosen", "connected 5 10.0.0.2@tcp/2"},
		{"CH-62 older", otherB, 1, 5, nil, "chosen:old-epoch", "connected 5 10.0.0.2@tcp/2"},
		{"CH-62 same epoch", otherB, 2, 5, nil, "chosen:old-epoch", "connected 5 10.0.0.2@tcp/2"},
		{"CH-A18 dead", gone, 3, 5, nil, "chosen:master-dead", "connected 5 10.0.0.2@tcp/2"},
		{"unknown", nid.MustParse("9.9.9.9@tcp"), 3, 5, nil, "chosen:unknown-server", "connected 5 10.0.0.2@tcp/2"},
		{"earlier life", otherB, 3, 4, nil, "chosen:stale", "connected 5 10.0.0.2@tcp/2"},
		{"later life", otherB, 3, 6, nil, "chosen:not-connected", "connected 5 10.0.0.2@tcp/2"},
		{"CH-A18 orphan, dead", gone, 3, 5, orphanA, "chosen:master-dead", "orphaned 5 10.0.0.2@tcp/2"},
		{"orphan, repeated", otherA, 2, 5, orphanA, "chosen:orphaned", "orphaned 5 10.0.0.2@tcp/2"},
		{"me, without quorum", me, 3, 5, func(h *harness) { h.step(ServerInput{Kind: QuorumIs}) }, "chosen:no-quorum", "connected 5 10.0.0.2@tcp/2"},
		{"me, draining", me, 3, 5, func(h *harness) { h.step(ServerInput{Kind: Drain, Alive: true}) }, "chosen:draining", "connected 5 10.0.0.2@tcp/2"},
		{"evicted", otherB, 3, 5, func(h *harness) { h.evicted(otherA, 5) }, "chosen:global", "none"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHarness(t, nil)
			h.connect(5, otherA, 2)
			if tt.setup != nil {
				tt.setup(h)
			}
			h.message(host, Message{Kind: Choose, Incarnation: tt.life, Epoch: tt.epoch, Server: tt.master})
			h.want(tt.want)
			h.wantState(tt.state)
		})
	}
	// The old master stops watching (CH-A17).
	h := newHarness(t, nil)
	h.connect(5, me, 1)
	h.message(host, Message{Kind: Choose, Incarnation: 5, Epoch: 2, Server: otherA})
	h.advance(2 * h.s.cfg.Evict)
	if s := h.words(); strings.Contains(s, "suspended") {
		t.Errorf("the old master evicts: %q", s)
	}
}

func orphanA(h *harness) { h.step(ServerInput{Kind: ServerHealth, Server: otherA}) }

// TestQuorum: CH-30, CH-32, CH-34, CH-46, CH-A6, CH-68: who is cut off for T_q
// evicts all clients here and broadcasts nothing; the same life may come back.
func TestQuorum(t *testing.T) {
	start := func(change func(*ServerConfig)) *harness {
		h := newHarness(t, change)
		h.connect(5, me, 1)
		h.message(nid.ProcessID{NID: otherB, PID: 3}, Message{Kind: Connect, Client: ClientID{9}, Incarnation: 1, Server: otherA})
		h.step(ServerInput{Kind: QuorumIs})
		return h
	}
	const all = "notice:no-quorum evicted:lost-quorum remove notice:no-quorum evicted:lost-quorum remove"
	h := start(nil)
	h.want("quorum-lost")
	h.advance(h.s.cfg.Quorum - time.Millisecond)
	h.want("")
	h.step(ServerInput{Kind: QuorumIs, Alive: true}) // flapping for less than T_q
	h.step(ServerInput{Kind: QuorumIs})
	h.advance(h.s.cfg.Quorum - time.Millisecond)
	h.want("")
	h.step(ServerInput{Kind: QuorumIs, Unsure: true}) // discovery resynchronises
	h.advance(10 * time.Second)
	if s := h.words(); strings.Contains(s, "lost-quorum") {
		t.Errorf("CH-A6: evicted although discovery is unsure: %q", s)
	}
	h.step(ServerInput{Kind: QuorumIs})
	h.advance(h.s.cfg.Quorum)
	h.want(all)
	if st := h.s.Status(); st.Clients != 0 || st.Tombstones != 0 || h.s.Stats().Broadcasts != 0 {
		t.Errorf("%+v", st)
	}
	h.step(ServerInput{Kind: QuorumIs, Alive: true})
	h.connect(5, me, 1)
	h.want("save connected accept")

	h = start(func(c *ServerConfig) { c.Quorum = -1 }) // the letter
	h.want("quorum-lost " + all)
}
