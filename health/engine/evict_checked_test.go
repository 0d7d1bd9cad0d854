package engine

import (
	"strings"
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// farChoice returns an eviction of the client's incarnation 5 for a choice of a master with the epoch 1000. The
// client has not made that choice: its latest one has the epoch 3.
func farChoice(cause wire.Cause) wire.Batch {
	return wire.Batch{Entries: entries(wire.Entry{Client: testClient, Incarnation: 5, Mark: uint8(cause), Epoch: 1000})}
}

// checked returns a server to which the client is connected with the given master, in epoch 3. Another server has
// then sent it an eviction for a later choice or, if told is set, the tombstone of such an eviction.
func checked(t *testing.T, master nid.NID, told bool) *harness {
	h := newHarness(t, nil)
	h.connect(5, master, 3)
	h.advance(h.s.cfg.Tick)
	h.message(host, wire.Message{Kind: wire.Ping, Incarnation: 5, Epoch: 3})
	if told {
		h.mute = true
		h.step(ServerInput{Kind: QuorumIs})
		h.step(ServerInput{Kind: QuorumIs, Alive: true})
		h.tellTombstones(otherB, h.last(wire.Tombstones).Sequence, tombstoneOf(1000, time.Minute))
	} else {
		r := h.wanted(otherB, farChoice(wire.Rebooted))
		if len(r.Exceptions) != 1 || r.Exceptions[0].Code != wire.OtherMaster || r.Exceptions[0].Epoch != 3 || r.Exceptions[0].Master != master {
			t.Errorf("%+v", r)
		}
	}
	h.wantState("connected 5 " + master.String() + "/3")
	return h
}

// TestLaterChoiceIsChecked: CH-62, CH-63, CH-A1: any node can connect with a client's id to a server that does not
// know the client, name a later choice of a master than the client's, and be evicted there. The client's master
// does not obey that eviction, nor its tombstone. It asks the client. If the client answers, it stays connected.
// If it answers that it has ended, it is evicted at once; if it does not answer, T_evict later.
func TestLaterChoiceIsChecked(t *testing.T) {
	spec.Covers(t, "CH-62", "CH-63", "CH-A1")
	for _, told := range []bool{false, true} {
		for answer, want := range map[string]string{"it is there": "connected", "it has ended": "evicting", "": "evicting"} {
			h := checked(t, me, told)
			h.advance(h.s.cfg.Tick)
			if m := h.last(wire.Ask); m.Incarnation != 5 || m.Epoch != 3 {
				t.Errorf("the client is asked %+v", m)
			}
			here := wire.Message{Kind: wire.Here, Incarnation: 5, Epoch: 3}
			switch answer {
			case "it is there":
				h.message(host, here)
				h.advance(h.s.cfg.Evict - h.s.cfg.Tick)
			case "it has ended":
				here.Code = wire.NotConnected
				h.message(host, here)
			default:
				h.wantState("connected 5 10.0.0.1@tcp/3")
				h.advance(h.s.cfg.Evict + 2*h.s.cfg.Tick)
			}
			h.wantState(want + " 5 10.0.0.1@tcp/3")
		}
	}
}

// TestCheckedAgainAndAgain: CH-10: a client has ended, while its node goes on sending other messages. Evictions
// for a later choice that arrive over and over do not postpone the time at which the client's master evicts it.
func TestCheckedAgainAndAgain(t *testing.T) {
	spec.Covers(t, "CH-10")
	h := checked(t, me, false)
	h.slowLook = true
	for begin := h.now; h.state() == "connected 5 10.0.0.1@tcp/3"; {
		if h.advance(time.Second); h.now > begin+h.s.cfg.Evict+4*h.s.cfg.Tick {
			t.Fatal("the client is still connected")
		}
		h.step(ServerInput{Kind: Seen, Client: testClient, At: h.now})
		h.wanted(otherB, farChoice(wire.TimedOut))
	}
	h.wantState("none") // the master was evicting the client, as the other server was
}

// TestLaterChoiceIsCheckedElsewhere: CH-63, CH-A1: another server is the client's master. The server that gets an
// eviction for a later choice asks that master once, at the next tick. If the master knows the client, the client
// stays connected. If not, or if the master dies, the client becomes an orphan, and has T_orphan to choose another
// master. A further copy of the eviction does not end it in that time.
func TestLaterChoiceIsCheckedElsewhere(t *testing.T) {
	spec.Covers(t, "CH-63", "CH-A1")
	for _, told := range []bool{false, true} {
		for answer, want := range map[string]string{"it is known": "connected", "it is not known": "orphaned", "the master dies": "orphaned"} {
			h := checked(t, otherA, told)
			h.advance(h.s.cfg.Tick)
			if m := h.last(wire.Digest); m.Entries.Len() != 1 || m.Entries.At(0).Client != testClient {
				t.Errorf("the master is asked %+v", m)
			}
			h.advance(h.s.cfg.Tick)
			if strings.Contains(h.words(), "digest") {
				t.Errorf("the master is asked again: %q", h.words())
			}
			reply := wire.Message{Kind: wire.DigestReply}
			switch answer {
			case "the master dies":
				h.step(ServerInput{Kind: ServerHealth, Server: otherA, Lifetime: 1})
			case "it is not known":
				reply.Entries = entries(wire.Entry{Client: testClient, Incarnation: 5})
				fallthrough
			default:
				h.message(nid.ProcessID{NID: otherA, PID: nid.LustrePID}, reply)
			}
			h.wantState(want + " 5 10.0.0.2@tcp/3")
			if r := h.wanted(otherB, farChoice(wire.TimedOut)); r.Evicted != 0 {
				t.Errorf("%s: %+v", answer, r)
			}
			h.advance(h.s.cfg.Orphan / 2)
			h.wantState(want + " 5 10.0.0.2@tcp/3")
			if h.advance(h.s.cfg.Orphan); (h.state() == "none") != (want == "orphaned") {
				t.Errorf("%s: after T_orphan the client is %q", answer, h.state())
			}
		}
	}
}

// TestLaterChoiceOfRecovering: CH-66, CH-A1: a client's master is restarted, and gets an eviction for a later
// choice before the client has confirmed the connection. The client stays if it confirms the connection, and is
// evicted after T_evict if it does not.
func TestLaterChoiceOfRecovering(t *testing.T) {
	spec.Covers(t, "CH-66", "CH-A1")
	for _, confirms := range []bool{true, false} {
		h := newHarness(t, nil)
		h.step(ServerInput{Kind: Restore, Record: &Record{Client: testClient, Incarnation: 5, Master: me, Epoch: 3, Peer: host}})
		if r := h.wanted(otherB, farChoice(wire.TimedOut)); len(r.Exceptions) != 1 {
			t.Errorf("%+v", r)
		}
		h.wantState("recovering 5 10.0.0.1@tcp/3")
		h.advance(h.s.cfg.Evict / 2)
		want := "evicting"
		if confirms {
			want = "connected"
			h.message(host, wire.Message{Kind: wire.Ping, Incarnation: 5, Epoch: 3})
		}
		h.advance(h.s.cfg.Evict/2 + 2*h.s.cfg.Tick)
		h.wantState(want + " 5 10.0.0.1@tcp/3")
	}
}

// TestToldSameChoice: CH-A1: a server that is not the client's master reports a tombstone for the choice by which
// the client is connected. The client's master asks the client.
func TestToldSameChoice(t *testing.T) {
	spec.Covers(t, "CH-A1")
	h := newHarness(t, nil)
	h.connect(5, me, 3)
	h.advance(h.s.cfg.Tick)
	h.mute = true
	h.step(ServerInput{Kind: QuorumIs})
	h.step(ServerInput{Kind: QuorumIs, Alive: true})
	h.tellTombstones(otherB, h.last(wire.Tombstones).Sequence, tombstoneOf(3, time.Minute))
	h.wantState("connected 5 10.0.0.1@tcp/3")
	h.advance(2 * h.s.cfg.Tick)
	if m := h.last(wire.Ask); m.Incarnation != 5 || m.Epoch != 3 {
		t.Errorf("the client is asked %+v", m)
	}
}

// TestFarEpoch: CH-62: a server refuses a choice whose epoch is too large for the 24 bits of evictions and
// tombstones.
func TestFarEpoch(t *testing.T) {
	spec.Covers(t, "CH-62")
	for _, epoch := range []uint32{1 << 23, 1<<23 + 7, 1 << 24, 1<<24 + 3, 1<<32 - 1} {
		h := newHarness(t, nil)
		h.connect(5, me, epoch)
		h.want("reject:ahead")
		h.connect(5, me, 3)
		h.connect(5, me, epoch)
		h.want("reject:ahead")
		h.message(host, wire.Message{Kind: wire.Choose, Incarnation: 5, Epoch: epoch, Server: me})
		h.want("chosen:ahead")
		h.wantState("connected 5 10.0.0.1@tcp/3")
	}
}

// TestRefusedLongAgo: CH-A8, CH-A1: server otherB evicts a client, but the client answers its master, which
// refuses the eviction. Much later the client chooses otherB as its master, and that old eviction does not count
// against this choice.
func TestRefusedLongAgo(t *testing.T) {
	spec.Covers(t, "CH-A8", "CH-A1")
	h := checked(t, me, false)
	for range 15 * 60 {
		h.advance(time.Second)
		h.message(host, wire.Message{Kind: wire.Ping, Incarnation: 5, Epoch: 3})
	}
	h.wantState("connected 5 10.0.0.1@tcp/3")
	h.advance(h.s.cfg.Evict + 2*h.s.cfg.Tick) // meanwhile the client chooses otherB, and is cut off from this server
	h.wantState("evicting 5 10.0.0.1@tcp/3")
	h.done(wire.Reply{Evicted: 1, Exceptions: []wire.Exception{{Code: wire.OtherMaster, Epoch: 4, Incarnation: 5, Master: otherB}}}, gone)
	h.wantState("connected 5 10.0.0.3@tcp/4")
}

// TestWithdrawnByOther: CH-63, CH-A1: a server withdraws its eviction for a choice that the client has not made.
// That does not withdraw the evictions by other servers for earlier choices: when the client's master evicts the
// client afterwards, the eviction counts.
func TestWithdrawnByOther(t *testing.T) {
	spec.Covers(t, "CH-63", "CH-A1")
	h := checked(t, otherA, false)
	b := farChoice(wire.TimedOut)
	b.Withdraw = true
	h.wanted(otherB, b)
	if r := h.wanted(otherB, farChoice(wire.TimedOut)); len(r.Exceptions) != 1 {
		t.Errorf("a late copy of the eviction: %+v", r)
	}
	r := h.wanted(otherA, wire.Batch{Entries: entries(wire.Entry{Client: testClient, Incarnation: 5, Mark: uint8(wire.TimedOut), Epoch: 3})})
	if r.Evicted != 1 {
		t.Errorf("%+v", r)
	}
	h.wantState("none")
}

// TestFarChoiceIsNotNamed: CH-A8, CH-A1: a stranger has connected to this server with a client's id, and named a
// choice much later than the client's. When the client's master evicts the client, this server does not name that
// choice in its answer, because it would hide the choice that the client has made.
func TestFarChoiceIsNotNamed(t *testing.T) {
	spec.Covers(t, "CH-A8", "CH-A1")
	for _, tt := range []struct {
		epoch uint32
		named bool
	}{{2, true}, {1024, true}, {1025, false}, {maxEpoch, false}} {
		h := newHarness(t, nil)
		h.connect(5, me, tt.epoch)
		r := h.wanted(otherA, wire.Batch{Entries: entries(wire.Entry{Client: testClient, Incarnation: 5, Mark: uint8(wire.TimedOut), Epoch: 1})})
		if (len(r.Exceptions) == 1) != tt.named || (r.Unknown == 1) == tt.named || r.Evicted != 0 || h.state() == "none" {
			t.Errorf("epoch %d: %+v, the client is %q", tt.epoch, r, h.state())
		}
	}
}

// TestOrphanOfSameChoice: CH-A8: an administrator has an orphan evicted. Another server, which has not noticed yet
// that the orphan's master is dead, answers that the client has that master by the same choice. The orphan is
// evicted all the same.
func TestOrphanOfSameChoice(t *testing.T) {
	spec.Covers(t, "CH-A8")
	h := three(t)
	h.connect(5, otherA, 3)
	h.step(ServerInput{Kind: ServerHealth, Server: otherA, Lifetime: 1})
	h.step(ServerInput{Kind: EvictClient, Client: testClient})
	h.done(wire.Reply{Exceptions: []wire.Exception{{Code: wire.OtherMaster, Epoch: 3, Incarnation: 5, Master: otherA}}}, otherA)
	h.advance(3 * h.s.cfg.Tick) // until discovery has been steady
	h.wantState("none")
}

// TestEvictsStrangerOnly: CH-A1: a stranger connects with the ids of clients to a server that does not know them.
// It names the same choice of a master as the client, or a later one. Then it goes silent, or connects in the next
// incarnation. The server evicts the stranger. No client loses its connections or its incarnation, even if its
// master is cut off soon afterwards and then asks for tombstones.
func TestEvictsStrangerOnly(t *testing.T) {
	spec.Covers(t, "CH-A1")
	for name, tt := range map[string]struct {
		epoch uint32 // 0: that of the client's own choice
		next  bool   // the stranger connects in the next incarnation
	}{
		"later, silent": {epoch: 1000}, "later, goes on": {epoch: 1000, next: true},
		"the same, silent": {}, "the same, goes on": {next: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 11, 5)
			w.run(2 * time.Second)
			for range 4 {
				w.add(0, 1, 2)
			}
			w.run(20 * time.Second)
			for _, c := range w.clients {
				st, victim := c.m.Status(), w.servers[3]
				m := wire.Message{Kind: wire.Connect, Client: c.name, Incarnation: st.Incarnation, Server: victim.id, Epoch: tt.epoch, Sequence: 1}
				if tt.epoch == 0 {
					m.Epoch = st.Epoch
				}
				w.send(stranger.NID, victim.id, m.AppendTo(nil))
				if m.Incarnation, m.Epoch, m.Sequence = m.Incarnation+1, 1, 2; tt.next {
					w.after(time.Second, func() { w.send(stranger.NID, victim.id, m.AppendTo(nil)) })
				}
			}
			w.run(30 * time.Second)
			if n := w.servers[3].m.Stats().Ended[wire.TimedOut] + w.servers[3].m.Stats().Ended[wire.Rebooted] + w.servers[3].m.Stats().Kept; n == 0 {
				t.Error("the stranger was not evicted")
			}
			for range 2 {
				for _, c := range w.clients {
					if st := c.m.Status(); st.State != "settled" || c.count(Evicted)+c.count(Superseded)+c.count(Dropped) != 0 || len(w.holders(c)) < 3 {
						w.fail("%v: %+v, connected to %v", c.id, st, w.holders(c))
					}
				}
				id := w.clients[0].m.Status().Master
				w.cut = func(a, b nid.NID) bool { return a == id && w.server(b) != nil }
				w.run(w.detect + 2*time.Second) // shorter than T_q
				w.cut = nil
				w.run(20 * time.Second)
			}
		})
	}
}

// TestNoChoiceCountsAsFirst: CH-A1, CH-A8, CH-62: a stranger connects to this server with a client's id, and names no choice of a
// master. This server evicts it, and withdraws that because another server has the client. The withdrawal names a choice,
// the first: if it named none, servers would take it for that of all evictions by this server.
func TestNoChoiceCountsAsFirst(t *testing.T) {
	spec.Covers(t, "CH-62", "CH-A1", "CH-A8")
	record := Record{Client: testClient, Incarnation: 5, Master: me, Peer: stranger, Name: "stranger"} // that an earlier version has stored
	for name, f := range map[string]func(h *harness){
		"connected": func(h *harness) { h.message(stranger, wire.Message{Kind: wire.Connect, Incarnation: 5, Server: me}) },
		"restored":  func(h *harness) { h.step(ServerInput{Kind: Restore, Record: &record}) },
	} {
		h := newHarness(t, nil)
		f(h)
		h.advance(h.s.cfg.Evict + 2*h.s.cfg.Tick)
		h.done(wire.Reply{Exceptions: []wire.Exception{{Code: wire.OtherMaster, Epoch: 3, Incarnation: 5, Master: otherA}}}, gone)
		b, err := wire.ParseBatch(h.effects[len(h.effects)-1].Token.([]byte))
		if err != nil || !b.Withdraw || b.Entries.Len() != 1 || b.Entries.At(0).Epoch != 1 {
			t.Errorf("%s: %q: %+v, %v", name, h.words(), b, err)
		}
	}
}
