package engine

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ulnet/health/wire"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// world is a cluster in virtual time: the state machines of servers and clients, with a network
// that loses, duplicates and delays messages, discovery with its delay, collectives, and
// stores.
type world struct {
	t       *testing.T
	rng     *rand.Rand
	now     time.Duration
	queue   happenings
	seq     uint64
	servers []*server
	clients []*client
	nodes   map[nid.NID]node

	loss, dup, reorder float64 // probabilities that a message is lost, doubled or delayed
	stale              float64 // probability that a broadcast fails
	late               float64 // probability that an eviction arrives a second time, much later
	cut                func(a, b nid.NID) bool
	keeps              bool // messages are delayed by a cut link instead of lost, as with TCP
	kept               []func()
	detect             time.Duration // how long discovery takes to notice a death
	claims             keyring.Keys
	tap                func(from, to nid.NID, m *wire.Message)
	trace              []string
	sparse, steps      int // the invariants of servers are checked in one of sparse steps (0: in each step); steps counts the steps
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

func (h *happenings) Push(x any) { *h = append(*h, x.(happening)) }

func (h *happenings) Pop() any {
	x := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return x
}

// node has the methods that servers and clients share.
type node interface {
	deliver(from nid.ProcessID, data []byte)
	host() *base
}

// base is the process of a node: it can be dead or paused.
type base struct {
	w           *world
	id          nid.NID
	up          bool
	stopped     bool
	inbox       []func() // inputs that arrived during a pause
	incarnation uint64
	timer       uint64
}

func (b *base) host() *base { return b }

// run calls f in this process if the process is alive and of the given incarnation. If the
// process is paused, run calls f after the pause.
func (b *base) run(incarnation uint64, f func()) {
	switch {
	case !b.up || b.incarnation != incarnation:
	case b.stopped:
		b.inbox = append(b.inbox, func() { b.run(incarnation, f) })
	default:
		f()
	}
}

func (b *base) wake(at time.Duration, f func()) {
	b.timer++
	timer, incarnation := b.timer, b.incarnation
	if at == machine.Never {
		return
	}
	b.w.at(at, func() {
		b.run(incarnation, func() {
			if b.timer == timer {
				f()
			}
		})
	})
}

func (b *base) stop() { b.stopped = true }

func (b *base) resume() {
	b.stopped = false
	inbox := b.inbox
	b.inbox = nil
	for _, f := range inbox {
		f()
	}
}

func newWorld(t *testing.T, seed uint64, servers int) *world {
	return newWorldWith(t, seed, servers, keyring.Keys{})
}

// populated returns a world of five servers and the given number of clients, which are connected
// to all servers and have been for some time.
func populated(t *testing.T, seed uint64, clients int) *world {
	w := newWorld(t, seed, 5)
	w.run(2 * time.Second)
	for range clients {
		w.add(0, 1, 2, 3, 4)
	}
	w.run(20 * time.Second)
	return w
}

func newWorldWith(t *testing.T, seed uint64, servers int, claims keyring.Keys) *world {
	w := &world{t: t, claims: claims, rng: rand.New(rand.NewPCG(seed, 7)), nodes: make(map[nid.NID]node), detect: 3400 * time.Millisecond, now: time.Hour}
	var ids []nid.NID
	for i := range servers {
		ids = append(ids, nid.FromNumber(nid.MustParseNet("tcp"), 10<<24+uint32(i)+1))
	}
	for _, id := range ids {
		s := &server{base: base{w: w, id: id}, ids: ids, store: make(map[wire.ClientID]Record), tombstones: make(map[wire.ClientID]tombstone), views: make(map[nid.NID]*view)}
		for _, other := range ids {
			s.views[other] = &view{}
		}
		w.servers = append(w.servers, s)
		w.nodes[id] = s
	}
	for _, s := range w.servers {
		s.start()
		w.poll(s)
	}
	return w
}

// add adds a client, which starts at once. It wants connections to the servers with the given
// numbers.
func (w *world) add(wants ...int) *client {
	i := len(w.clients)
	c := &client{base: base{w: w, id: nid.FromNumber(nid.MustParseNet("tcp"), 10<<24+1<<16+uint32(i))}, name: wire.ClientID{0xC0, byte(i), byte(i >> 8), byte(i >> 16)}}
	for _, s := range wants {
		c.wants = append(c.wants, w.servers[s].id)
	}
	w.clients = append(w.clients, c)
	w.nodes[c.id] = c
	c.start()
	return c
}

func (w *world) at(at time.Duration, f func()) {
	w.seq++
	heap.Push(&w.queue, happening{max(at, w.now), w.seq, f})
}

func (w *world) after(d time.Duration, f func()) { w.at(w.now+d, f) }

// run lets time pass.
func (w *world) run(d time.Duration) {
	most := 1_000_000 + int(60*d.Seconds()) + 2000*len(w.clients) // bound of the steps in a run; a few clients take 40 steps per second over a day
	for end, n := w.now+d, 0; ; n++ {
		if n > most {
			w.fail("%d things happened until %v of %v", n, w.now, end)
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

func (w *world) log(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf("%9.3f ", (w.now-time.Hour).Seconds())+fmt.Sprintf(format, args...))
}

// fail fails the test and shows the end of the trace.
func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	for _, line := range w.trace[max(0, len(w.trace)-120):] {
		w.t.Log(line)
	}
	w.t.Fatalf(format, args...)
}

func (w *world) between(a, b time.Duration) time.Duration {
	return a + time.Duration(w.rng.Int64N(int64(b-a)+1))
}

func (w *world) separated(a, b nid.NID) bool { return w.cut != nil && (w.cut(a, b) || w.cut(b, a)) }

// send delivers a message after its delay, or loses it.
func (w *world) send(from, to nid.NID, data []byte) {
	data = slices.Clone(data)
	if w.tap != nil {
		m, _ := wire.ParseMessage(data)
		w.tap(from, to, &m)
	}
	copies := 1
	if w.rng.Float64() < w.dup {
		copies = 2
	}
	for range copies {
		delay := w.between(time.Millisecond, 3*time.Millisecond)
		if w.rng.Float64() < w.reorder {
			delay += w.between(0, 400*time.Millisecond)
		}
		if w.rng.Float64() < w.loss || w.nodes[to] == nil {
			continue
		}
		n := w.nodes[to]
		deliver := func() {
			if !w.separated(from, to) {
				n.host().run(n.host().incarnation, func() { n.deliver(nid.ProcessID{NID: from, PID: nid.LustrePID}, data) })
			}
		}
		if w.separated(from, to) {
			w.kept = append(w.kept, deliver)
		} else {
			w.after(delay, deliver)
		}
	}
}
