package engine

import (
	"strings"
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// three returns a server that has two others beside it, which are alive and send no tombstones.
func three(t *testing.T) *harness {
	h := newHarness(t, func(c *ServerConfig) { c.Servers = []nid.NID{me, otherA, otherB} })
	h.mute = true
	h.advance(maxAsks * h.s.cfg.Tick) // the questions that the server asked at its start have ended
	return h
}

func (h *harness) askTombstones(from nid.NID, sequence uint64) {
	h.t.Helper()
	h.message(nid.ProcessID{NID: from, PID: nid.LustrePID}, wire.Message{Kind: wire.Tombstones, Sequence: sequence, Retry: 2 * time.Minute})
}

// tombstoneOf returns a tombstone as another server sends it: the client's incarnation 5 was
// evicted by its master of the given epoch, the given time ago.
func tombstoneOf(epoch uint32, age time.Duration) wire.Entry {
	return wire.Entry{Client: testClient, Incarnation: 5, Epoch: epoch, Mark: uint8(255 - 255*age/(10*time.Minute))}
}

// TestEvictionOfLaterChoice: CH-62, CH-63: the eviction by the master that a client chose last
// also counts at a server that knows only an earlier choice and is evicting the client itself. An administrator's eviction does not
// prove a later choice, because any server may send it. TestLaterChoiceIsChecked has the other states.
func TestEvictionOfLaterChoice(t *testing.T) {
	spec.Covers(t, "CH-62", "CH-63")
	for name, tt := range map[string]struct {
		master nid.NID
		then   func(h *harness)
		epoch  uint32
		cause  wire.Cause
		gone   bool
	}{
		"being evicted":       {me, func(h *harness) { h.connect(6, me, 1) }, 2, wire.TimedOut, true},
		"of the same choice":  {otherA, func(*harness) {}, 1, wire.TimedOut, false},
		"of no choice":        {me, func(*harness) {}, 0, wire.TimedOut, false},
		"by an administrator": {me, func(*harness) {}, 2, wire.ByAdmin, false},
	} {
		h := newHarness(t, nil)
		h.connect(5, tt.master, 1)
		tt.then(h)
		r := h.wanted(otherB, wire.Batch{Entries: entries(wire.Entry{Client: testClient, Incarnation: 5, Mark: uint8(tt.cause), Epoch: tt.epoch})})
		if info, ok := h.s.Client(testClient); (r.Evicted == 1) != tt.gone || (!ok || info.Incarnation != 5) != tt.gone {
			t.Errorf("%s: %+v, the client is %q", name, r, h.state())
		}
	}
	h := newHarness(t, nil) // a connect of the next incarnation waits until this one is evicted
	h.connect(5, me, 1)
	h.connect(6, me, 1)
	h.wanted(otherB, wire.Batch{Entries: entries(wire.Entry{Client: testClient, Incarnation: 5, Mark: uint8(wire.TimedOut), Epoch: 2})})
	h.want("notice:global evicted:timed-out bury save answer connected accept")
}

// TestWaitedClientIsAsked: CH-A21, CH-10: a client whose connect had to wait may have ended
// before it is accepted, while its node goes on sending. The server asks the client after a
// tick, without waiting for T_evict.
func TestWaitedClientIsAsked(t *testing.T) {
	spec.Covers(t, "CH-10", "CH-A21")
	for _, speaks := range []bool{false, true} {
		h := newHarness(t, nil)
		h.connect(5, me, 1)
		h.connect(6, me, 1)
		h.done(wire.Reply{Evicted: 1}, gone)
		if speaks {
			h.message(host, wire.Message{Kind: wire.Ping, Incarnation: 6, Epoch: 1})
		}
		h.advance(h.s.cfg.Tick + h.s.cfg.Tick/10)
		h.step(ServerInput{Kind: Seen, Client: testClient, At: h.now})
		h.advance(h.s.cfg.Tick)
		if asks := h.s.Stats().Asks; (asks > 0) == speaks {
			t.Errorf("it speaks: %v; it was asked %d times", speaks, asks)
		}
	}
}

// TestPassOn: CH-33, CH-65, goal G-CH-6: a server learns of a tombstone that no master has
// broadcast. It sends the tombstone to the servers that have asked for tombstones shortly
// before. It does not send the tombstone back to the server from which it came, nor to a server
// that asked long ago.
func TestPassOn(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-65", "G-CH-6")
	for _, tt := range []struct {
		ago   time.Duration
		epoch uint32
		want  string
	}{
		{time.Second, 0, "bury tombstones-reply"},
		{time.Second, 1, "bury"}, // the tombstone has an epoch, so a master has told all servers of this eviction itself
		{time.Minute, 0, "bury"},
	} {
		h := three(t)
		h.askTombstones(otherA, 31)
		h.advance(tt.ago)
		h.askTombstones(otherB, 41)
		h.want("tombstones-reply tombstones")
		h.tellTombstones(otherB, h.last(wire.Tombstones).Sequence, tombstoneOf(tt.epoch, 0))
		h.want(tt.want)
		if tt.want == "bury" {
			continue
		}
		if m := h.last(wire.TombstonesReply); m.Sequence != 31 || m.Entries.Len() != 1 || m.Entries.At(0).Incarnation != 5 {
			t.Errorf("%+v", m)
		}
	}
	h := three(t) // a second answer to the same question counts, too: the other server may have learned of a tombstone since
	h.askTombstones(otherB, 41)
	ask := h.last(wire.Tombstones)
	h.tellTombstones(otherB, ask.Sequence)
	h.tellTombstones(otherB, ask.Sequence, tombstoneOf(0, 0))
	h.want("bury")
}

// TestPassOnWaits: a server that has regained the quorum waits for the tombstones of all servers
// before it passes any on. It does not send a tombstone to a server that has sent the same one.
func TestPassOnWaits(t *testing.T) {
	for _, tells := range []bool{true, false} {
		h := three(t)
		h.step(ServerInput{Kind: QuorumIs})
		h.askTombstones(otherA, 31)
		h.step(ServerInput{Kind: QuorumIs, Alive: true})
		h.want("quorum-won tombstones")
		b := h.last(wire.Tombstones)
		h.tellTombstones(otherB, b.Sequence, tombstoneOf(0, 0))
		h.want("bury")
		if tells {
			h.tellTombstones(otherA, b.Sequence-1, tombstoneOf(0, 0))
			h.want("")
		} else {
			h.tellTombstones(otherA, b.Sequence-1)
			h.want("tombstones-reply")
		}
	}
}

// TestDoubt: CH-33: a client is connected here with a later choice of a master. Other servers, which
// do not know of that choice, have a tombstone of the client for an earlier choice, or one that names no choice. This server evicts
// the client if more than half of the servers have had the tombstone for T_evict and it was not
// withdrawn. In all other cases the client stays. The withdrawal of an eviction of an earlier incarnation, or for an
// earlier choice than that of the tombstones, may have come late, and does not count as their withdrawal. The
// withdrawal of an eviction that names a choice does not count for a tombstone that names none.
func TestDoubt(t *testing.T) {
	spec.Covers(t, "CH-33")
	long := 60 * time.Second
	for name, tt := range map[string]struct {
		master      nid.NID
		first, then time.Duration // ages of the first and the second tombstone
		withdrawn   wire.Entry
		want        string
	}{
		"of most":                       {me, long, long, wire.Entry{}, "suspended broadcast1"},
		"under another":                 {otherB, long, long, wire.Entry{}, "notice:global evicted:lost-master remove bury"},
		"one may withdraw it":           {me, long, 10 * time.Second, wire.Entry{}, ""},
		"both may":                      {me, 10 * time.Second, 10 * time.Second, wire.Entry{}, ""},
		"it was withdrawn":              {me, long, long, wire.Entry{Incarnation: 5, Epoch: 2}, ""},
		"an earlier one was":            {me, long, long, wire.Entry{Incarnation: 5, Epoch: 1}, "suspended broadcast1"},
		"one of an earlier incarnation": {me, long, long, wire.Entry{Incarnation: 4, Epoch: 2}, "suspended broadcast1"},
	} {
		doubtful := func(t *testing.T, epoch uint32) {
			h := three(t)
			h.connect(5, tt.master, 3)
			h.askTombstones(otherA, 31)
			h.tellTombstones(otherA, h.last(wire.Tombstones).Sequence, tombstoneOf(epoch, tt.first))
			h.want("")
			h.advance(h.s.cfg.Tick + 1)
			if tt.first < h.s.cfg.Evict { // the tombstone is too young for the server to ask about it
				if h.s.Status().Clients != 1 || len(h.s.catchup.doubts) != 1 || h.s.catchup.doubts[testClient].asked {
					t.Errorf("%+v", h.s.catchup.doubts)
				}
				return
			}
			ask := h.last(wire.Tombstones)
			if x := tt.withdrawn; x.Epoch > 0 {
				x.Client = testClient
				h.wanted(otherA, wire.Batch{Withdraw: true, Entries: entries(x)})
				if epoch == 0 {
					tt.want = "suspended broadcast1"
				}
			}
			h.tellTombstones(otherB, ask.Sequence, tombstoneOf(epoch, tt.then))
			if got := strings.TrimSuffix(h.words(), " tombstones-reply"); got != tt.want { // it passes on a tombstone without a choice
				t.Fatalf("got %q, want %q", got, tt.want)
			}
			h.advance(lately*h.s.cfg.Tick + 2*h.s.cfg.Evict)
			if n := len(h.s.catchup.doubts); n != 0 {
				t.Errorf("%d doubts are left", n)
			}
		}
		t.Run(name, func(t *testing.T) { doubtful(t, 2) })
		t.Run(name+", without a choice", func(t *testing.T) { doubtful(t, 0) })
	}
}

// TestGivenUp: CH-30, CH-33: a master that loses the quorum during an eviction gives the
// eviction up, and withdraws it when it has the quorum again. It does not withdraw evictions
// that most servers have carried out, nor those of other servers, whether these have decided
// themselves or for a master that the client had before or chose later.
func TestGivenUp(t *testing.T) {
	spec.Covers(t, "CH-30", "CH-33")
	for name, tt := range map[string]struct {
		answered bool
		told     []wire.Entry // tombstones that another server has
		want     string
	}{
		"nobody has answered": {false, nil, "broadcast1"},
		"most have":           {true, nil, ""},
		"another made it":     {false, []wire.Entry{tombstoneOf(2, 0)}, "bury unbury broadcast1"},
		"others evicted it":   {false, []wire.Entry{tombstoneOf(0, 0)}, "bury"},
		"a former master did": {false, []wire.Entry{tombstoneOf(1, 0)}, "bury"},
		"a later master did":  {false, []wire.Entry{tombstoneOf(3, 0)}, "bury"},
	} {
		t.Run(name, func(t *testing.T) {
			fifth := nid.MustParse("10.0.0.5@tcp")
			h := newHarness(t, func(c *ServerConfig) { c.Servers = []nid.NID{me, otherA, otherB, gone, fifth} })
			h.step(ServerInput{Kind: ServerHealth, Server: gone, Alive: true})
			h.connect(5, me, 2)
			h.step(ServerInput{Kind: EvictClient, Client: testClient})
			if tt.answered {
				h.done(wire.Reply{Evicted: 2}, gone, fifth)
			}
			h.step(ServerInput{Kind: QuorumIs})
			h.advance(h.s.cfg.Quorum)
			h.wantState("none")
			h.step(ServerInput{Kind: ServerHealth, Server: otherB})
			h.step(ServerInput{Kind: ServerHealth, Server: gone})
			h.mute = true
			h.step(ServerInput{Kind: QuorumIs, Alive: true})
			h.tellTombstones(otherA, h.last(wire.Tombstones).Sequence, tt.told...)
			h.want(tt.want)
			if strings.HasSuffix(tt.want, "broadcast1") {
				b, err := wire.ParseBatch(h.effects[len(h.effects)-1].Token.([]byte))
				if err != nil || !b.Withdraw || b.Entries.At(0).Incarnation != 5 || b.Entries.At(0).Epoch != 2 {
					t.Errorf("%+v, %v", b, err)
				}
			}
		})
	}
}

// TestWithdrawalGivenUp: CH-30, CH-33: a master withdraws an eviction, and loses the quorum before the servers that have made
// the eviction have answered, or before it has sent the withdrawal. When it has the quorum again it sends it.
func TestWithdrawalGivenUp(t *testing.T) {
	spec.Covers(t, "CH-30", "CH-33")
	fifth := nid.MustParse("10.0.0.5@tcp")
	all := []nid.NID{otherA, otherB, gone, fifth}
	for name, sent := range map[string]bool{"sent": true, "not sent": false} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, func(c *ServerConfig) { c.Servers = append([]nid.NID{me}, all...) })
			h.step(ServerInput{Kind: ServerHealth, Server: gone, Alive: true})
			h.connect(5, me, 1)
			h.step(ServerInput{Kind: EvictClient, Client: testClient})
			kept := func() {
				h.done(wire.Reply{Evicted: 1, Exceptions: []wire.Exception{{Code: wire.OtherMaster, Epoch: 2, Incarnation: 5, Master: otherB}}}, fifth)
			}
			h.step(ServerInput{Kind: ServerHealth, Server: fifth})
			if sent {
				kept()
			}
			for _, id := range all {
				h.step(ServerInput{Kind: ServerHealth, Server: id})
			}
			h.advance(h.s.cfg.Tick) // discovery finds the servers dead before it finds that there is no quorum
			h.step(ServerInput{Kind: QuorumIs})
			if sent {
				h.done(wire.Reply{}, all...)
			} else {
				kept()
			}
			h.advance(h.s.cfg.Quorum)
			h.wantState("none")
			h.mute = true
			h.step(ServerInput{Kind: ServerHealth, Server: otherA, Alive: true})
			h.step(ServerInput{Kind: QuorumIs, Alive: true})
			h.tellTombstones(otherA, h.last(wire.Tombstones).Sequence, tombstoneOf(1, 0))
			for k, e := range h.effects {
				if e.Kind == DoBroadcast {
					h.wantWithdrawn(k)
					return
				}
			}
			t.Errorf("no withdrawal in %q", h.words())
		})
	}
}

// TestGivenUpInAnyOrder: CH-33: a master has given up an eviction, which one server has made nevertheless. If another
// server has a tombstone of the client that is not of this eviction (of an orphan, or of an earlier or a later master),
// the master does not withdraw its eviction, whichever of the two servers answers first, and even if one answers late.
// The master does withdraw it if all tombstones are of its own eviction or of other incarnations, or if the other eviction is withdrawn. If a
// server does not answer at all, the master withdraws it after the last repetition of the question.
func TestGivenUpInAnyOrder(t *testing.T) {
	spec.Covers(t, "CH-33")
	const never = -1
	own := tombstoneOf(2, 0)
	for name, tt := range map[string]struct {
		first, second wire.Entry
		ticks         int // after which the second answer arrives
		withdrawn     uint32
		want          bool // this server withdraws its eviction
	}{
		"own before a former master's":     {own, tombstoneOf(1, 0), 0, 0, false},
		"a former master's before own":     {tombstoneOf(1, 0), own, 0, 0, false},
		"own before one of an orphan":      {own, tombstoneOf(0, 0), 0, 0, false},
		"own before a later master's":      {own, tombstoneOf(3, 0), 0, 0, false},
		"a former master's comes late":     {own, tombstoneOf(1, 0), maxAsks - 1, 0, false},
		"one of an orphan comes late":      {own, tombstoneOf(0, 0), maxAsks - 1, 0, false},
		"a later incarnation's":            {own, wire.Entry{Client: testClient, Incarnation: 6, Epoch: 2, Mark: 255}, 0, 0, true},
		"all are its own":                  {own, own, 0, 0, true},
		"all are its own, one comes late":  {own, own, maxAsks - 1, 0, true},
		"the former master withdraws":      {tombstoneOf(1, 0), own, 1, 1, true},
		"the former master has withdrawn":  {own, tombstoneOf(1, 0), 1, 1, true},
		"an even earlier master withdraws": {tombstoneOf(3, 0), own, 1, 1, false},
		"no answer":                        {own, own, never, 0, true},
	} {
		h := newHarness(t, func(c *ServerConfig) { c.Servers = []nid.NID{me, otherA, otherB} })
		h.connect(5, me, 2)
		h.step(ServerInput{Kind: EvictClient, Client: testClient})
		h.step(ServerInput{Kind: QuorumIs})
		h.advance(h.s.cfg.Quorum)
		h.mute = true
		h.step(ServerInput{Kind: QuorumIs, Alive: true})
		ask := h.last(wire.Tombstones).Sequence
		var all []ServerEffect
		note := func() { all = append(all, h.effects...) }
		h.tellTombstones(otherA, ask-1, tt.first)
		note()
		if tt.withdrawn > 0 {
			h.wanted(otherA, wire.Batch{Withdraw: true, Entries: entries(wire.Entry{Client: testClient, Incarnation: 5, Epoch: tt.withdrawn})})
		}
		if tt.ticks != never {
			h.advance(time.Duration(tt.ticks) * h.s.cfg.Tick)
			note()
			h.tellTombstones(otherB, h.s.catchup.of(2).last, tt.second)
			note()
		}
		if h.s.evictions.givenUp != nil && tt.ticks != never {
			t.Errorf("%s: all have answered, and it still waits", name)
		}
		h.advance((maxAsks + 1) * h.s.cfg.Tick)
		note()
		h.effects = all
		if got := strings.Contains(h.words(), "broadcast1"); got != tt.want {
			t.Errorf("%s: it withdraws the eviction: %v, want %v (%s)", name, got, tt.want, h.words())
		}
		if h.s.evictions.givenUp != nil || h.s.evictions.given != nil {
			t.Errorf("%s: evictions are still given up", name)
		}
	}
}

// TestGivenUpIsBusy: CH-33, CH-A13: a master has given up an eviction, which another server has made nevertheless. Until the
// master knows whether to withdraw the eviction, it tells the client, which has chosen another master since, to try
// again. When it has withdrawn the eviction it accepts the client. If another server has evicted the client as well, it
// refuses the client.
func TestGivenUpIsBusy(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-A13")
	for epoch, want := range map[uint32]string{2: "save connected accept", 4: "reject:global"} {
		h := newHarness(t, func(c *ServerConfig) { c.Servers = []nid.NID{me, otherA, otherB} })
		h.connect(5, me, 2)
		h.step(ServerInput{Kind: EvictClient, Client: testClient})
		h.step(ServerInput{Kind: QuorumIs})
		h.advance(h.s.cfg.Quorum)
		h.mute = true
		h.step(ServerInput{Kind: QuorumIs, Alive: true})
		h.tellTombstones(otherA, h.last(wire.Tombstones).Sequence-1, tombstoneOf(2, time.Minute))
		if got := word5(h, wire.Connect, 3); got != "reject:busy" {
			t.Errorf("before all have answered: %q", got)
		}
		h.advance((maxAsks - 1) * h.s.cfg.Tick)
		if got := word5(h, wire.Connect, 3); got != "reject:busy" {
			t.Errorf("before all have answered: %q", got)
		}
		h.tellTombstones(otherB, h.s.catchup.of(2).last, tombstoneOf(epoch, time.Minute))
		h.advance(h.s.cfg.Tick)
		if got := word5(h, wire.Connect, 3); got != want {
			t.Errorf("epoch %d: %q, want %q", epoch, got, want)
		}
	}
}

// TestGivenUpTwice: CH-33: a master has given up an eviction, and learns that a former master has evicted the client as
// well. Before all servers have answered, the master is cut off again, and the former master withdraws its eviction
// meanwhile. The answers from before that no longer count, so the master withdraws its own eviction.
func TestGivenUpTwice(t *testing.T) {
	spec.Covers(t, "CH-33")
	h := newHarness(t, func(c *ServerConfig) { c.Servers = []nid.NID{me, otherA, otherB} })
	h.connect(5, me, 2)
	h.step(ServerInput{Kind: EvictClient, Client: testClient})
	h.step(ServerInput{Kind: QuorumIs})
	h.advance(h.s.cfg.Quorum)
	h.mute = true
	h.step(ServerInput{Kind: QuorumIs, Alive: true})
	h.tellTombstones(otherA, h.last(wire.Tombstones).Sequence-1, tombstoneOf(1, 0))
	h.step(ServerInput{Kind: QuorumIs})
	h.advance(h.s.cfg.Tick)
	h.step(ServerInput{Kind: QuorumIs, Alive: true})
	ask := h.last(wire.Tombstones).Sequence
	h.tellTombstones(otherA, ask-1)
	h.tellTombstones(otherB, ask, tombstoneOf(2, 0))
	h.want("bury unbury broadcast1")
}

// TestLateCopyOfWithdrawn: CH-A8, CH-33: a late copy of an eviction that was withdrawn ends no
// connection. Of two withdrawn evictions the server remembers the one with the later choice of a
// master. Neither cancels an eviction with a still later choice.
func TestLateCopyOfWithdrawn(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-A8")
	batch := func(h *harness, withdraw bool, epoch uint32) wire.Reply {
		return h.wanted(otherA, wire.Batch{Withdraw: withdraw, Entries: entries(wire.Entry{Client: testClient, Incarnation: 5, Mark: uint8(wire.TimedOut), Epoch: epoch})})
	}
	h := newHarness(t, nil)
	h.connect(5, otherA, 1)
	batch(h, true, 1)
	if r := batch(h, false, 1); len(r.Exceptions) != 1 || r.Exceptions[0].Code != wire.OtherMaster {
		t.Errorf("%+v", r)
	}
	h.wantState("connected 5 10.0.0.2@tcp/1")

	h = newHarness(t, nil)
	batch(h, true, 1)
	batch(h, true, 2)
	batch(h, false, 2)
	if _, ok := h.s.Buried(testClient); ok {
		t.Error("what was withdrawn last is buried")
	}
	batch(h, false, 3)
	batch(h, true, 2)
	if _, ok := h.s.Buried(testClient); !ok {
		t.Error("an eviction of a later choice was taken back")
	}
}
