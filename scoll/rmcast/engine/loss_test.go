package engine

import (
	"fmt"
	"testing"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast/wire"
)

// tally counts the messages on a network.
type tally struct {
	casts, repairs, acks, pendings, needs, polls, ackMessages int
	ackers                                                    map[sim.NodeID]time.Duration // time at which each node sent its first ACK
}

// tallied makes a group of n nodes and counts its messages from then on. lost selects
// multicast datagrams that get lost once the group is formed.
func tallied(t *testing.T, n int, lost func(to sim.NodeID, d *wire.Datagram) bool, change func(w *world, cfg *sim.Config[*packet])) (*world, *tally) {
	t.Helper()
	c := &tally{ackers: map[sim.NodeID]time.Duration{}}
	w := newWorld(t, n, change)
	w.form(n)
	w.run(time.Second)
	w.tap = func(from, _ sim.NodeID, p *packet) { c.count(w, from, p) }
	w.loss = func(_, to sim.NodeID, p *packet) bool {
		if !p.cast || lost == nil {
			return false
		}
		d, _, err := wire.ParseDatagram(p.data)
		return err == nil && lost(to, &d)
	}
	return w, c
}

func (c *tally) count(w *world, from sim.NodeID, p *packet) {
	if d, _, err := wire.ParseDatagram(p.data); err == nil && p.kind == Arrival {
		switch {
		case d.Flags&wire.FlagRepair != 0:
			c.repairs++
		case d.Count > 0:
			c.casts++
		}
		return
	}
	acks := false
	for _, e := range entries(p) {
		switch e.Kind {
		case wire.Ack:
			acks = true
			c.acks++
			if _, ok := c.ackers[from]; !ok {
				c.ackers[from] = w.net.Now()
			}
		case wire.Pending:
			c.pendings++
		case wire.Need:
			c.needs++
		case wire.Poll:
			c.polls++
		}
	}
	if acks {
		c.ackMessages++
	}
}

// onceFor returns a function that loses the first n datagrams with payload to a node.
func onceFor(id sim.NodeID, n int) func(sim.NodeID, *wire.Datagram) bool {
	return func(to sim.NodeID, d *wire.Datagram) bool {
		if to != id || d.Count == 0 || n == 0 {
			return false
		}
		n--
		return true
	}
}

// TestLostAtLeaf: RM-3, RM-18, RM-19 and RM-A4: the very first message is lost at a leaf of the tree, and so is the
// heartbeat. The leaf's parent polls the leaf when it is late, and resends the message once. Nodes above do nothing.
func TestLostAtLeaf(t *testing.T) {
	spec.Covers(t, "RM-3", "RM-18", "RM-19", "RM-A4")
	w, c := tallied(t, 16, func(to sim.NodeID, _ *wire.Datagram) bool { return to == 15 }, nil)
	begin := w.net.Now()
	s := w.send(0, "x")
	w.await(s)
	w.want("x", w.all()...)
	if c.repairs != 1 || c.needs != 1 || c.polls != 1 || c.acks != 15 || w.hosts[14].m.stats.Repairs != 1 {
		t.Errorf("%+v", c)
	}
	m := w.hosts[14].m
	late := oneWay + m.patience(1, 0) + oneWay + w.hosts[15].m.grace() + 2*oneWay // time until the leaf is polled and the data resent
	if want := late; c.ackers[15]-begin != want {
		t.Errorf("the leaf acknowledges after %v, want %v", c.ackers[15]-begin, want)
	}
	if took := s.released - s.at; took > late+4*oneWay {
		t.Errorf("released after %v", took)
	}
}

// TestPatience: RM-18 and RM-A4: the timeout is proportional to the levels below, and doubles
// with each poll, up to a limit.
func TestPatience(t *testing.T) {
	spec.Covers(t, "RM-18", "RM-A4")
	m := New(Config{RTT: 40 * time.Millisecond, Guard: time.Millisecond, AckDelay: time.Millisecond})
	for depth := 1; depth <= 10; depth++ {
		level := 40*time.Millisecond + 10*time.Millisecond + time.Millisecond // RTT, RTT/4 (in place of the guard, which is shorter), AckDelay
		if got := m.patience(depth, 0); got != time.Duration(depth)*level {
			t.Errorf("depth %d: %v", depth, got)
		}
		if got, want := m.patience(depth, 2), min(4*time.Duration(depth)*level, maxPatience); got != want {
			t.Errorf("depth %d, asked twice: %v, want %v", depth, got, want)
		}
	}
	if m.patience(1, 3) != m.patience(1, 200) {
		t.Error("it never ends to grow")
	}
}

// TestLostAtInner: RM-20, RM-27, RM-A5 and RM-A6: an inner node lacks a message that its
// children have. After the grace period it requests the message from a child, which still has
// the message although it has acknowledged it.
func TestLostAtInner(t *testing.T) {
	spec.Covers(t, "RM-20", "RM-27", "RM-A5", "RM-A6")
	var asked, acked time.Duration
	w, c := tallied(t, 8, onceFor(4, 1), nil)
	tap := w.tap
	w.tap = func(from, to sim.NodeID, p *packet) {
		tap(from, to, p)
		if has(p, wire.Ack) && to == 4 && acked == 0 {
			acked = w.net.Now() + oneWay
		}
		if has(p, wire.Need) && from == 4 {
			asked = w.net.Now()
		}
	}
	s := w.send(0, "x")
	w.await(s)
	w.want("x", w.all()...)
	if c.needs != 1 || c.repairs != 1 || c.polls != 0 || w.hosts[0].m.stats.Repairs != 0 {
		t.Errorf("%+v", c)
	}
	if grace := w.hosts[4].m.grace(); asked-acked != grace || grace > time.Millisecond {
		t.Errorf("it asks %v after the acknowledgement, the grace is %v", asked-acked, grace)
	}
}

// TestReorderedOnly: RM-26 and RM-A5: a datagram that is overtaken by acknowledgements is not
// requested.
func TestReorderedOnly(t *testing.T) {
	spec.Covers(t, "RM-26", "RM-A5")
	w, c := tallied(t, 16, nil, func(w *world, cfg *sim.Config[*packet]) {
		late := link.Quality{Latency: link.Dist{Base: oneWay}, Reorder: 0.2, Hold: link.Dist{Base: 4 * oneWay / 5}}
		cfg.Topology = &sim.Flat{Link: late}
	})
	for i := range 50 {
		s := w.send(sim.NodeID(i%16), fmt.Sprint("m", i))
		w.await(s)
		w.want(s.data, w.all()...)
	}
	if c.needs > 0 || c.repairs > 0 {
		t.Errorf("%+v", c)
	}
}

// TestMissedByAll: only the origin has the message, since all others missed the multicast. Each of them gets
// it as a repair from its parent in the tree.
func TestMissedByAll(t *testing.T) {
	w, c := tallied(t, 16, func(_ sim.NodeID, d *wire.Datagram) bool { return d.Count > 0 }, nil)
	s := w.send(3, "x")
	w.await(s)
	w.want("x", w.all()...)
	if c.repairs < 15 || c.repairs > 18 { // 15 members lost the message, so each needs one repair
		t.Errorf("%+v", c)
	}
}

// TestPausedLeaf: RM-A20 and RM-35: a leaf at the lowest level is paused. Its parent polls it,
// and all nodes above are told to wait. No node resends the payload, which the leaf has.
func TestPausedLeaf(t *testing.T) {
	spec.Covers(t, "RM-35", "RM-A20")
	w, c := tallied(t, 16, nil, nil)
	w.net.Pause(15)
	s := w.send(0, "x")
	w.run(2 * time.Second)
	if s.done {
		t.Fatal("released without a member")
	}
	if c.repairs != 0 || c.pendings < 3 || c.polls < 5 {
		t.Errorf("%+v", c)
	}
	st := w.hosts[0].m.Status()
	if waits := st.Streams[0].Waits; len(waits) != 1 || !waits[0].Pending || waits[0].For != 16 || waits[0].Above != 15 {
		t.Errorf("the origin waits for %+v", waits)
	}
	if got := w.hosts[14].suspects; len(got) == 0 || got[0].NID != hostNID(15) {
		t.Errorf("suspects: %v", got)
	}
	w.net.Resume(15)
	w.await(s)
	w.want("x", w.all()...)
}

// TestLostAcks: RM-24: if a parent has not received a node's acknowledgement, the node
// acknowledges again (docs/spec, multicast §C.4).
func TestLostAcks(t *testing.T) {
	spec.Covers(t, "RM-24")
	w, c := tallied(t, 8, nil, nil)
	lose := true
	w.loss = func(from, _ sim.NodeID, p *packet) bool {
		if from == 6 && has(p, wire.Ack) && lose {
			lose = false
			return true
		}
		return false
	}
	s := w.send(0, "x")
	w.await(s)
	w.want("x", w.all()...)
	if c.acks != 8 || c.repairs != 0 || c.polls != 1 {
		t.Errorf("%+v", c)
	}
}

// TestWindowAcks: RM-35 and RM-A19: with many messages in flight, a control message
// acknowledges ranges of them. With one in flight, its acknowledgement is sent without delay.
func TestWindowAcks(t *testing.T) {
	spec.Covers(t, "RM-35", "RM-A19")
	const n, messages = 8, 200
	w, c := tallied(t, n, nil, func(w *world, _ *sim.Config[*packet]) { w.manager.Window = 32 })
	for i := range messages {
		w.net.Command(0, fmt.Sprint("m", i))
	}
	w.run(2 * time.Second)
	for i := range messages {
		w.want(fmt.Sprint("m", i), w.all()...)
	}
	if c.casts != messages*(n-1) || c.repairs > 0 || c.ackMessages > messages*(n-1)/2 {
		t.Errorf("%d messages: %+v", messages, c)
	}
	c.ackMessages = 0
	s := w.send(0, "alone")
	w.await(s)
	if took := s.released - s.at; c.ackMessages != n-1 || took != 4*oneWay {
		t.Errorf("alone: %d ACK messages, %v", c.ackMessages, took)
	}
}

// TestFragments: RM-30 and RM-A15: some datagrams of a message of 64 KiB get lost. Only these are resent, and
// one acknowledgement covers the message.
func TestFragments(t *testing.T) {
	spec.Covers(t, "RM-30", "RM-A15")
	lost, drawn := 0, uint64(1)
	w, c := tallied(t, 8, func(_ sim.NodeID, d *wire.Datagram) bool {
		drawn = drawn*6364136223846793005 + 1442695040888963407
		if d.Count == 0 || drawn>>33%20 != 0 { // drop 5 % of the fragments
			return false
		}
		lost++
		return true
	}, nil)
	text := long(64 << 10)
	s := w.send(2, text)
	w.await(s)
	w.want(text, w.all()...)
	if lost == 0 || c.repairs > lost*6/5+1 || c.repairs < lost || c.casts != 7*32 {
		t.Errorf("%d lost, %+v", lost, c)
	}
}

// TestLastFragment: RM-A15: the last fragment is lost at a leaf, which sees no gap. Its parent
// polls it and resends the fragment.
func TestLastFragment(t *testing.T) {
	spec.Covers(t, "RM-A15")
	w, c := tallied(t, 8, func(to sim.NodeID, d *wire.Datagram) bool { return to == 7 && d.Count > 0 && d.Index == d.Count-1 }, nil)
	text := long(10 * 2048)
	w.await(w.send(0, text))
	w.want(text, w.all()...)
	if c.repairs != 1 || c.polls != 1 || c.needs != 1 {
		t.Errorf("%+v", c)
	}
}

// TestDuplicates: RM-21 and RM-A16: every message arrives twice, some copies late, and is
// delivered once.
func TestDuplicates(t *testing.T) {
	spec.Covers(t, "RM-21", "RM-A16")
	for _, fifo := range []bool{false, true} {
		w, _ := tallied(t, 6, nil, func(w *world, cfg *sim.Config[*packet]) {
			w.cfg.FIFO = fifo
			quality := link.Quality{Latency: link.Dist{Base: oneWay, Spread: oneWay / 2, Shape: link.Uniform}, Duplicate: 1}
			cfg.Topology = &sim.Flat{Link: quality}
			w.manager.Window = 4
		})
		for i := range 60 {
			w.net.Command(sim.NodeID(i%3), fmt.Sprint("m", i))
		}
		w.run(3 * time.Second)
		for i := range 60 {
			w.want(fmt.Sprint("m", i), w.all()...)
		}
		if fifo {
			ordered(t, w)
		}
	}
}

// ordered checks that messages of an origin came in order everywhere (RM-31).
func ordered(t *testing.T, w *world) {
	t.Helper()
	for _, h := range w.hosts {
		last := map[wire.ID]uint64{}
		for _, g := range h.got {
			if g.seq <= last[g.origin] {
				t.Errorf("node %d delivers %d of %v after %d", h.id, g.seq, g.origin, last[g.origin])
			}
			last[g.origin] = g.seq
		}
	}
}

// TestWindowEdge: RM-A16: no more than a window is in flight, even if messages are not released
// for a long time. So new datagrams are never taken for duplicates.
func TestWindowEdge(t *testing.T) {
	spec.Covers(t, "RM-A16")
	w, c := tallied(t, 4, nil, func(w *world, _ *sim.Config[*packet]) { w.manager.Window = 4 })
	w.net.Pause(3)
	for i := range 20 {
		w.net.Command(0, fmt.Sprint("m", i))
	}
	w.run(500 * time.Millisecond)
	if c.casts != 4*3 || len(w.hosts[0].full) != 16 {
		t.Errorf("%+v, %d wait", c, len(w.hosts[0].full))
	}
	w.net.Resume(3)
	w.run(5 * time.Second)
	for i := range 20 {
		w.want(fmt.Sprint("m", i), w.all()...)
	}
}

// TestWatermark: RM-27 and RM-A6: a member keeps payload until a heartbeat of the origin says
// that it is stable, even if that heartbeat is lost twice. It queries a silent origin.
func TestWatermark(t *testing.T) {
	spec.Covers(t, "RM-27", "RM-A6")
	w, _ := tallied(t, 4, nil, nil)
	beats := 0
	w.loss = func(_, to sim.NodeID, p *packet) bool {
		d, _, err := wire.ParseDatagram(p.data)
		if err != nil || d.Count > 0 || to != 1 && to != 2 {
			return false
		}
		beats++
		return to == 2 || beats <= 4 // node 1 receives the last heartbeat, node 2 none
	}
	s := w.send(0, "x")
	w.await(s)
	kept := func(id sim.NodeID) uint64 {
		s := w.hosts[id].m.group.byID[w.hosts[0].m.self].stream
		return s.head - s.stable
	}
	w.run(100 * time.Millisecond)
	if kept(1) != 1 || kept(2) != 1 || kept(3) != 0 {
		t.Errorf("after the first heartbeat: %d, %d, %d", kept(1), kept(2), kept(3))
	}
	w.run(400 * time.Millisecond)
	if kept(1) != 0 || kept(2) != 1 || w.hosts[0].m.stats.Heartbeats < 3 {
		t.Errorf("after the third: %d, %d", kept(1), kept(2))
	}
	w.run(time.Second)
	if kept(2) != 0 {
		t.Error("nobody asked the origin")
	}
}
