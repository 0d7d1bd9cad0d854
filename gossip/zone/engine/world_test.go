package engine

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnet/nid"
)

// world is a zone in virtual time: bare machines, and a network that loses, delays and
// duplicates messages. Messages are bytes, and every machine has its own table, unless the
// table is shared.
type world struct {
	t       testing.TB
	rng     *rand.Rand
	now     time.Duration
	queue   happenings
	seq     uint64
	nodes   []*node
	byNID   map[nid.NID]*node
	shared  *Table
	byRef   map[wire.Ref]*node // node by Ref, if all nodes share a table
	cfg     Config
	strict  bool // the invariants of the machine are checked after every step
	wrongly int  // how often others removed a node that was up

	disk               time.Duration // time until a raised incarnation is stored
	latency, jitter    time.Duration
	loss, dup, reorder float64
	cut                func(from, to int) bool
	tap                func(from, to *node, s *Send, m *wire.Message, size int)
	stray              func(from *node, to wire.ID) // called for a message to a node outside this test
	lose               func(from, to *node, m *wire.Message) bool
	told               func(n *node, e *Event)
	bytes              [wire.Kinds]int
	messages           [wire.Kinds]int
	dispatches         int
	trace              []string
	record             int      // number of messages kept in recorded, to be replayed
	recorded           []parcel // the latest messages
	out                Output
}

type happening struct {
	at  time.Duration
	seq uint64
	f   func()
}

type happenings []happening

func (h happenings) Len() int { return len(h) }
func (h happenings) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h happenings) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *happenings) Push(x any)   { *h = append(*h, x.(happening)) }
func (h *happenings) Pop() any {
	x := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return x
}

// node is a process: it can be dead, with or without its host, or paused.
type node struct {
	w           *world
	i           int
	id          wire.ID
	m           *Machine
	boot        []wire.ID
	change      func(*Config) // changes the configuration of this node
	up          bool
	hostDown    bool // the host is down: messages to it are lost, instead of refused
	paused      bool
	slow        time.Duration // time that a step takes
	busy        time.Duration // time until which the current step lasts
	inbox       []func()
	incarnation uint64 // number of the process's incarnation
	inc         uint64 // highest incarnation that is stored
	timer       uint64
	watched     map[int]bool
	view        map[wire.ID]wire.Version // members according to the events (MS-10)
	replay      viewState                // state of the view when the method replayed last compared it with the events
	keys        map[wire.ID]map[string]string
	events      []Event
}

// viewState is what changes whenever a machine's view does.
type viewState struct {
	m       *Machine
	members int
	hash    uint64
}

func testID(i int) wire.ID {
	id, err := wire.NewID(fmt.Sprintf("n%d", i), nid.FromNumber(nid.MustParseNet("tcp"), 10<<24+uint32(i)+1))
	if err != nil {
		panic(err)
	}
	return id
}

// newWorld makes a world of nodes that have not started.
func newWorld(t testing.TB, seed uint64, n int, cfg Config) *world {
	if race {
		t.Skip("one goroutine: there is nothing to race with")
	}
	w := &world{
		t: t, rng: rand.New(rand.NewPCG(seed, 11)), now: time.Hour, cfg: cfg, strict: n <= 256,
		byNID: make(map[nid.NID]*node), latency: time.Millisecond / 2,
	}
	w.cfg.Zone, w.cfg.Seed = "test", seed
	for i := range n {
		w.add(i)
	}
	return w
}

// share makes all machines use one table, and passes messages as structs.
func (w *world) share() *world {
	w.shared, w.byRef = NewTable(1<<20), make(map[wire.Ref]*node)
	for _, n := range w.nodes {
		r, err := w.shared.Add(n.id)
		if err != nil {
			w.t.Fatal(err)
		}
		w.byRef[r] = n
	}
	return w
}

func (w *world) add(i int) *node {
	n := &node{w: w, i: i, id: testID(i)}
	w.nodes = append(w.nodes, n)
	w.byNID[n.id.Endpoints()[0]] = n
	return n
}

// boot starts all nodes, each with three random bootstrap nodes.
func (w *world) boot() *world {
	for _, n := range w.nodes {
		n.boot = nil
		for range 3 {
			other := n.i + 1 + w.rng.IntN(max(len(w.nodes)-1, 1))
			n.boot = append(n.boot, w.nodes[other%len(w.nodes)].id)
		}
		n.start()
	}
	return w
}

func (w *world) at(at time.Duration, f func()) {
	w.seq++
	heap.Push(&w.queue, happening{max(at, w.now), w.seq, f})
}

func (w *world) after(d time.Duration, f func()) { w.at(w.now+d, f) }

// run lets time pass.
func (w *world) run(d time.Duration) {
	most := 1_000_000 + len(w.nodes)*int(1000*d.Seconds()+100_000)
	for end, n := w.now+d, 0; ; n++ {
		if n > most {
			w.fail("%d things happened until %v of %v: %v, %d dispatches", n, w.now, end, w.messages, w.dispatches)
		}
		if len(w.queue) == 0 || w.queue[0].at > end {
			w.now = end
			return
		}
		h := heap.Pop(&w.queue).(happening)
		w.now = h.at
		h.f()
	}
}

// until lets time pass until a condition holds, and returns how long that took. It fails the test
// if the condition does not hold after the time in the parameter most.
func (w *world) until(most time.Duration, ok func() bool) time.Duration {
	w.t.Helper()
	begin := w.now
	for !ok() {
		if w.now-begin >= most {
			w.fail("not so after %v", most)
		}
		w.run(min(10*time.Millisecond, most))
	}
	return w.now - begin
}

func (w *world) log(format string, args ...any) {
	if !w.strict {
		return
	}
	w.trace = append(w.trace, fmt.Sprintf("%9.3f ", (w.now-time.Hour).Seconds())+fmt.Sprintf(format, args...))
}

// fail fails the test and shows the end of the trace.
func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.differences()
	for _, line := range w.trace[max(0, len(w.trace)-80):] {
		w.t.Log(line)
	}
	w.t.Fatalf(format, args...)
}

// agree reports whether the views of all nodes that are up consist of these nodes.
func (w *world) agree() bool {
	var hash uint64
	members := 0
	for _, n := range w.nodes {
		if n.up {
			members++
			hash ^= mix(n.id.Short(), n.m.ver.Inc)
		}
	}
	for _, n := range w.nodes {
		if n.up && (n.m.Len() != members || n.m.Hash() != hash) {
			return false
		}
	}
	return true
}

func (w *world) nodeOf(n *node, r wire.Ref) *node {
	if w.shared != nil {
		return w.byRef[r]
	}
	return w.byNID[n.m.Table().ID(r).Endpoints()[0]]
}

func (w *world) send(from *node, s *Send, buf []byte) {
	var to *node
	if s.To == 0 {
		to = w.byNID[s.NID]
	} else {
		to = w.nodeOf(from, s.To)
	}
	if to == nil {
		if w.stray != nil && s.To != 0 {
			w.stray(from, from.m.Table().ID(s.To))
		}
		return // the receiver is a node outside this test
	}
	msg, data := &s.Message, []byte(nil)
	size := s.End - s.Begin
	if w.shared != nil {
		c := s.Message
		msg = &c
		size = wire.Size(w.shared, msg)
	} else {
		data = slices.Clone(buf[s.Begin:s.End])
	}
	w.bytes[msg.Kind] += size
	w.messages[msg.Kind]++
	if w.tap != nil {
		w.tap(from, to, s, msg, size)
	}
	if w.lose != nil && w.lose(from, to, msg) {
		return
	}
	if w.record > 0 {
		w.keep(parcel{from, data})
	}
	copies := 1
	if w.dup > 0 && w.rng.Float64() < w.dup {
		copies = 2
	}
	for range copies {
		w.carry(from, to, msg, data)
	}
}

func (w *world) carry(from, to *node, msg *wire.Message, data []byte) {
	if w.loss > 0 && w.rng.Float64() < w.loss || w.cut != nil && w.cut(from.i, to.i) {
		return
	}
	delay := w.latency
	if w.jitter > 0 {
		delay += time.Duration(w.rng.Int64N(int64(w.jitter)))
	}
	if w.reorder > 0 && w.rng.Float64() < w.reorder {
		delay += time.Duration(w.rng.Int64N(int64(300 * time.Millisecond)))
	}
	sender := from.incarnation
	w.after(delay, func() {
		at := w.now
		switch {
		case w.cut != nil && w.cut(from.i, to.i):
		case to.up && w.shared != nil:
			to.exec(to.incarnation, func() { to.step(Input{Kind: Delivered, Message: msg, At: at}) })
		case to.up:
			to.exec(to.incarnation, func() { to.step(Input{Kind: Arrived, Data: data, Peer: from.id.Endpoints()[0], At: at}) })
		case !to.hostDown:
			w.after(w.latency, func() { from.input(sender, Input{Kind: Failed}, to.id) })
		}
	})
}

// differences shows which members are missing in which views.
func (w *world) differences() {
	for _, n := range w.nodes {
		if !n.up {
			continue
		}
		line := fmt.Sprintf("%s %v: links", n.id.Name(), n.m.ver)
		for _, l := range n.m.Links() {
			line += fmt.Sprintf(" %s/%s", l.ID.Name(), l.State)
		}
		line += "; misses"
		for _, o := range w.nodes {
			if _, ok := n.m.Has(n.m.Table().Lookup(o.id)); o.up && !ok {
				line += " " + o.id.Name()
			}
		}
		line += "; history"
		for _, g := range n.m.History() {
			line += fmt.Sprintf(" %s@%v/%v", g.ID.Name(), g.Version, g.Orderly)
		}
		w.t.Log(line, n.m.Status().Muted)
	}
}
