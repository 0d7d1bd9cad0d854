package health

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/lnet/nid"
)

// TestEvictTable is the state table of evictions: CH-11 to CH-13, CH-29, CH-45,
// CH-A7.
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

// TestRetry: CH-28, CH-A9: an eviction is repeated until every live server has
// answered; one that is dead is owed it for T_q.
func TestRetry(t *testing.T) {
	h := newHarness(t, nil)
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
	h.want("save rehomed")
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

// TestTombstones: CH-65, CH-A20: who was evicted does not come back, until that
// is forgotten; later lives do.
func TestTombstones(t *testing.T) {
	h := newHarness(t, nil)
	h.evicted(otherA, 5) // it was not connected here
	h.connect(5, otherA, 1)
	h.want("reject:global")
	if r := h.last(Reject); r.Incarnation != 5 {
		t.Errorf("%+v", r)
	}
	h.connect(6, otherA, 1)
	h.want("save connected accept")
	h.message(host, Message{Kind: Disconnect, Incarnation: 6})
	h.want("evicted:left bury")
	h.connect(6, otherA, 1)
	h.want("reject:global")
	h.advance(minTombstone + h.s.cfg.Tick)
	if n := h.s.Status().Tombstones; n != 0 {
		t.Errorf("%d tombstones are left", n)
	}
	h.connect(6, otherA, 1)
	h.want("save connected accept")
	h.message(host, Message{Kind: Disconnect, Code: NotConnected, Incarnation: 6}) // this server only
	h.want("evicted:left remove")
	h.connect(6, otherA, 1)
	h.want("save connected accept")
}

// TestTombstonesAreBounded: the oldest is forgotten for a new one, and burying a
// client over and over costs nothing.
func TestTombstonesAreBounded(t *testing.T) {
	var g tombstones
	g.init(100)
	forgot := uint64(0)
	for i := range 1000 {
		forgot += g.bury(ClientID{1, byte(i), byte(i >> 8)}, 1, time.Duration(i))
	}
	if len(g.lives) != 100 || forgot != 900 {
		t.Errorf("%d lives, %d forgotten", len(g.lives), forgot)
	}
	for i := range 10_000 {
		g.bury(ClientID{1, 231, 3}, uint64(i), time.Duration(1000+i))
	}
	if len(g.queue) > 300 || len(g.lives) != 100 {
		t.Errorf("%d places for %d lives", len(g.queue), len(g.lives))
	}
	g.expire(10_998)
	if _, ok := g.covers(ClientID{1, 231, 3}, 9_999); !ok || len(g.lives) != 1 {
		t.Errorf("%d lives are left", len(g.lives))
	}
	g.expire(10_999)
	if len(g.lives) != 0 || len(g.queue) != 0 {
		t.Error("they stay")
	}
}

// TestDigest: CH-65, CH-A20: masters are asked for the clients that are held under
// them; a planted ghost is orphaned, and in the end evicted.
func TestDigest(t *testing.T) {
	h := newHarness(t, nil)
	h.connect(5, otherA, 1)
	ghost := ClientID{8}
	h.message(nid.ProcessID{NID: otherB, PID: 3}, Message{Kind: Connect, Client: ghost, Incarnation: 1, Server: otherA})
	h.advance(h.s.cfg.Evict + h.s.cfg.Tick)
	digest := h.last(Digest)
	if digest.Entries.Len() != 2 || digest.Entries.At(0).Mark != 0 {
		t.Fatalf("digest of %d", digest.Entries.Len())
	}
	server := nid.ProcessID{NID: otherA, PID: nid.LustrePID}
	h.message(host, Message{Kind: DigestReply, Entries: entries(Entry{Client: testClient, Incarnation: 5})}) // who is no server
	h.want("")
	h.message(server, Message{Kind: DigestReply, Entries: entries(Entry{Client: ghost, Incarnation: 1}, Entry{Client: testClient, Incarnation: 4})})
	h.want("orphaned")
	h.wantState("connected 5 10.0.0.2@tcp/1")
	if h.s.Stats().Ghosts != 1 || h.s.Stats().Strangers != 1 {
		t.Errorf("%+v", h.s.Stats())
	}
	h.advance(h.s.cfg.Orphan + h.s.cfg.Tick)
	if s := h.words(); !strings.Contains(s, "notice:global evicted:lost-master bury") {
		t.Errorf("got %q", s)
	}

	// The other side: what a master does not know, and what it is to confirm.
	h = newHarness(t, nil)
	h.connect(5, me, 1)
	h.message(server, Message{Kind: Digest, Entries: entries(Entry{Client: testClient, Incarnation: 5})})
	h.want("")
	h.message(server, Message{Kind: Digest, Entries: entries(
		Entry{testClient, 5, markConfirm}, Entry{testClient, 4, markConfirm}, Entry{Client: ghost, Incarnation: 1})})
	h.want("digest-reply")
	var got []Entry
	for reply, i := h.last(DigestReply), 0; i < reply.Entries.Len(); i++ {
		got = append(got, reply.Entries.At(i))
	}
	if want := []Entry{{testClient, 5, markKnown}, {testClient, 4, 0}, {ghost, 1, 0}}; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// TestRecovery: CH-66, CH-67, CH-A9: after a restart a server's own clients have
// been heard of just now; others wait for their master to confirm them.
func TestRecovery(t *testing.T) {
	start := func(master nid.NID) *harness {
		s, err := NewServer(ServerConfig{Self: me, Incarnation: 78, Servers: []nid.NID{me, otherA, otherB}})
		if err != nil {
			t.Fatal(err)
		}
		h := &harness{t: t, s: s, now: time.Hour}
		h.step(ServerInput{Kind: Restore, Record: &Record{Client: testClient, Incarnation: 5, Master: master, Epoch: 2, Peer: host, Name: "host"}})
		h.want("recovered")
		h.step(ServerInput{Kind: RestoreGrave, Client: ClientID{4}, Incarnation: 3, For: time.Minute})
		h.step(ServerInput{Kind: ServerHealth, Server: otherA, Alive: true})
		h.step(ServerInput{Kind: QuorumIs, Alive: true})
		return h
	}
	server := nid.ProcessID{NID: otherA, PID: nid.LustrePID}

	h := start(me)
	h.wantState("connected 5 10.0.0.1@tcp/2")
	h.advance(h.s.cfg.Evict - time.Second)
	h.want("")
	h.message(host, Message{Kind: Connect, Client: ClientID{4}, Incarnation: 3, Server: me})
	h.want("reject:global")
	h.message(host, Message{Kind: Ping, Incarnation: 5})
	if p := h.last(Pong); p.Code != OK || p.Life != 78 { // CH-A19: the client sees that the server was restarted
		t.Errorf("%+v", p)
	}

	h = start(otherA)
	h.wantState("recovering 5 10.0.0.2@tcp/2")
	h.advance(h.s.cfg.Tick)
	if d := h.last(Digest); d.Entries.Len() != 1 || d.Entries.At(0) != (Entry{testClient, 5, markConfirm}) {
		t.Errorf("digest %+v", d)
	}
	h.message(server, Message{Kind: DigestReply, Entries: entries(Entry{testClient, 5, markKnown})})
	h.want("rehomed")
	h.wantState("connected 5 10.0.0.2@tcp/2")

	h = start(otherA) // the client itself is as good
	h.message(host, Message{Kind: Choose, Incarnation: 5, Epoch: 2, Server: otherA})
	h.want("save rehomed chosen")

	h = start(otherA) // the debt: its master evicts it
	if r := h.evicted(otherA, 5); r.Evicted != 1 {
		t.Errorf("%+v", r)
	}

	h = start(otherB) // nobody confirms it
	h.advance(h.s.cfg.Orphan + h.s.cfg.Tick)
	if s := h.words(); !strings.Contains(s, "notice:orphaned") || !strings.Contains(s, "notice:global evicted:lost-master bury") {
		t.Errorf("got %q", s)
	}
	h = start(nid.MustParse("9.9.9.9@tcp")) // nor one under a server that has left
	h.wantState("recovering 5 9.9.9.9@tcp/2")
}

// TestDrain: clients are asked to choose others, and new ones are refused.
func TestDrain(t *testing.T) {
	h := newHarness(t, nil)
	h.connect(5, me, 1)
	h.message(nid.ProcessID{NID: otherB, PID: 3}, Message{Kind: Connect, Client: ClientID{9}, Incarnation: 1, Server: me})
	h.step(ServerInput{Kind: Drain, Count: 1})
	h.want("notice:draining")
	h.step(ServerInput{Kind: Drain, Alive: true})
	h.want("notice:draining notice:draining")
	h.message(host, Message{Kind: Ping, Incarnation: 5})
	h.want("pong:draining")
	h.message(host, Message{Kind: Choose, Incarnation: 5, Epoch: 2, Server: otherA})
	h.want("save rehomed chosen")
	h.advance(h.s.cfg.Ping)
	h.want("notice:draining")
	h.message(host, Message{Kind: Connect, Client: ClientID{7}, Incarnation: 1, Server: me})
	h.want("reject:draining")
	h.message(host, Message{Kind: Connect, Client: ClientID{7}, Incarnation: 1, Server: otherA})
	h.want("save connected accept")
	h.step(ServerInput{Kind: Drain})
	h.message(host, Message{Kind: Connect, Client: ClientID{6}, Incarnation: 1, Server: me})
	h.want("save connected accept")
}

// TestTiming: CH-57, CH-A3, CH-A4: times that do not go together are refused with
// what to change.
func TestTiming(t *testing.T) {
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
