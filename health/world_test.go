package health

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// world is a cluster in virtual time: bare machines, a network that spoils
// messages, discovery with its delay, collectives, and stores.
type world struct {
	t       *testing.T
	rng     *rand.Rand
	now     time.Duration
	queue   happenings
	seq     uint64
	servers []*server
	clients []*client
	nodes   map[nid.NID]node

	loss, dup, reorder float64 // of messages
	stale              float64 // broadcasts that fail
	late               float64 // evictions that arrive once more, much later
	cut                func(a, b nid.NID) bool
	keeps              bool // a cut delays messages, as TCP does
	kept               []func()
	detect             time.Duration // until discovery notices
	claims             Claims
	tap                func(from, to nid.NID, m *Message)
	trace              []string
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

// node is what servers and clients have in common.
type node interface {
	deliver(from nid.ProcessID, data []byte)
	host() *base
}

// base is a node's process: it can be dead, and stand still.
type base struct {
	w       *world
	id      nid.NID
	up      bool
	stopped bool
	inbox   []func() // what happened while it stood still
	life    uint64
	timer   uint64
}

func (b *base) host() *base { return b }

// run has f happen in this process, if it still lives, when it does not stand still.
func (b *base) run(life uint64, f func()) {
	switch {
	case !b.up || b.life != life:
	case b.stopped:
		b.inbox = append(b.inbox, func() { b.run(life, f) })
	default:
		f()
	}
}

func (b *base) wake(at time.Duration, f func()) {
	b.timer++
	timer, life := b.timer, b.life
	if at == machine.Never {
		return
	}
	b.w.at(at, func() {
		b.run(life, func() {
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
	return newWorldWith(t, seed, servers, Claims{})
}

// populated returns a world of five servers and so many clients, who know all
// of them and have been connected for a while.
func populated(t *testing.T, seed uint64, clients int) *world {
	w := newWorld(t, seed, 5)
	w.run(2 * time.Second)
	for range clients {
		w.add(0, 1, 2, 3, 4)
	}
	w.run(20 * time.Second)
	return w
}

func newWorldWith(t *testing.T, seed uint64, servers int, claims Claims) *world {
	w := &world{t: t, claims: claims, rng: rand.New(rand.NewPCG(seed, 7)), nodes: make(map[nid.NID]node), detect: 3400 * time.Millisecond, now: time.Hour}
	var ids []nid.NID
	for i := range servers {
		ids = append(ids, nid.FromNumber(nid.MustParseNet("tcp"), 10<<24+uint32(i)+1))
	}
	for _, id := range ids {
		s := &server{base: base{w: w, id: id}, ids: ids, store: make(map[ClientID]Record), graves: make(map[ClientID]Tombstone), views: make(map[nid.NID]*view)}
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

// add adds a client, which starts at once and wants some servers.
func (w *world) add(wants ...int) *client {
	i := len(w.clients)
	c := &client{base: base{w: w, id: nid.FromNumber(nid.MustParseNet("tcp"), 10<<24+1<<16+uint32(i))}, name: ClientID{0xC0, byte(i), byte(i >> 8), byte(i >> 16)}}
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
	most := 1_000_000 + int(60*d.Seconds()) // a day of a few clients has 40 per second
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

// send carries a message.
func (w *world) send(from, to nid.NID, data []byte) {
	data = slices.Clone(data)
	if w.tap != nil {
		m, _ := ParseMessage(data)
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
				n.host().run(n.host().life, func() { n.deliver(nid.ProcessID{NID: from, PID: nid.LustrePID}, data) })
			}
		}
		if w.separated(from, to) {
			w.kept = append(w.kept, deliver)
		} else {
			w.after(delay, deliver)
		}
	}
}

// server is a server's process, with what outlives it.
type server struct {
	base
	ids     []nid.NID
	m       *Server
	out     ServerOutput
	store   map[ClientID]Record
	graves  map[ClientID]Tombstone
	durable time.Duration // when the latest write is
	views   map[nid.NID]*view
	quorum  bool
	unsure  time.Duration // discovery is, until then
	ready   time.Duration // it is silent after a start until then
	events  []Event
	fsync   time.Duration
	broken  bool          // the store is
	quick   time.Duration // by how much its discovery is quicker than others
}

// view is what a server thinks of another.
type view struct {
	alive    bool
	lifetime uint64
	heard    time.Duration
}

func (s *server) start() {
	s.up, s.stopped, s.inbox = true, false, nil
	s.life++
	m, err := NewServer(ServerConfig{Self: s.id, Incarnation: s.life, Servers: s.ids, MaxLives: 1000, Claims: s.w.claims})
	if err != nil {
		s.w.t.Fatal(err)
	}
	s.m, s.quorum = m, false
	if s.life > 1 {
		s.ready = s.w.now + s.w.detect*5/4
	}
	s.w.log("server %v starts", s.id)
	for _, v := range s.views { // any order: each by itself
		*v = view{heard: -time.Hour}
	}
	for _, id := range slices.SortedFunc(keys(s.store), ClientID.Compare) {
		r := s.store[id]
		s.step(ServerInput{Kind: Restore, Record: &r})
	}
	for _, id := range slices.SortedFunc(keys(s.graves), ClientID.Compare) {
		g := s.graves[id]
		s.step(ServerInput{Kind: RestoreGrave, Client: g.Client, Incarnation: g.Incarnation, For: 10 * time.Minute})
	}
	s.step(ServerInput{})
}

func keys[V any](m map[ClientID]V) func(func(ClientID) bool) {
	return func(yield func(ClientID) bool) {
		for k := range m { // any order: sorted by the caller
			if !yield(k) {
				return
			}
		}
	}
}

func (s *server) kill() {
	s.w.log("server %v dies", s.id)
	s.up = false
}

func (s *server) deliver(from nid.ProcessID, data []byte) {
	s.step(ServerInput{Kind: Arrived, From: from, Data: data})
}

func (s *server) step(in ServerInput) {
	s.out.Reset()
	wake := s.m.Step(s.w.now, in, &s.out)
	if err := s.m.invariants(); err != nil {
		s.w.fail("server %v: %v", s.id, err)
	}
	effects := slices.Clone(s.out.Effects)
	buf := slices.Clone(s.out.Buf)
	s.wake(wake, func() { s.step(ServerInput{}) })
	for i := range effects {
		e := &effects[i]
		s.effect(e, buf[e.Begin:e.End])
	}
}

func (s *server) effect(e *ServerEffect, data []byte) {
	w, life := s.w, s.life
	switch e.Kind {
	case DoSend:
		w.send(s.id, e.To.NID, data)
	case DoSave:
		s.write(func() {
			if !s.broken {
				s.store[e.Record.Client] = *e.Record
			}
			failed := s.broken
			if e.ID != 0 {
				s.run(life, func() { s.step(ServerInput{Kind: Saved, ID: e.ID, Failed: failed}) })
			}
		})
	case DoRemove:
		s.write(func() {
			delete(s.store, e.Client)
			if e.For < 0 {
				delete(s.graves, e.Client)
			}
			if e.For > 0 {
				s.graves[e.Client] = Tombstone{Client: e.Client, Incarnation: max(e.Incarnation, s.graves[e.Client].Incarnation)}
			}
		})
	case DoBroadcast:
		s.broadcast(e.ID, data)
	case DoAnswer:
		e.Token.(func([]byte))(data)
	case DoTell:
		ev := e.Event
		w.log("%v: %v %v %x/%d master %v/%d", s.id, ev.Kind, ev.Cause, ev.Client[:4], ev.Incarnation, ev.Master, ev.Epoch)
		s.events = append(s.events, ev)
	}
}

// write makes something durable after a while, in order; a crash before loses it.
func (s *server) write(f func()) {
	s.durable = max(s.durable, s.w.now+s.w.between(time.Millisecond, 5*time.Millisecond)+s.fsync)
	life := s.life
	s.w.at(s.durable, func() {
		if s.up && s.life == life {
			f()
		}
	})
}

// broadcast asks all that this server thinks alive, and collects their answers.
func (s *server) broadcast(id uint64, data []byte) {
	w, life := s.w, s.life
	done := func(failed bool, missing []nid.NID, reply []byte) {
		s.run(life, func() {
			s.step(ServerInput{Kind: BroadcastDone, ID: id, Failed: failed, Servers: missing, Data: reply})
		})
	}
	if w.rng.Float64() < w.stale {
		w.after(time.Millisecond, func() { done(true, nil, nil) })
		return
	}
	asked, over := 0, false
	var missing []nid.NID
	reply := (&Reply{}).AppendBinary(nil)
	finish := func() {
		if !over {
			over = true
			done(false, missing, reply)
		}
	}
	for _, o := range w.servers {
		if o == s {
			continue
		}
		missing = append(missing, o.id)
		if !s.views[o.id].alive {
			continue
		}
		asked++
		ask := func(answered func(b []byte)) {
			w.after(w.between(time.Millisecond, 20*time.Millisecond), func() {
				if w.separated(s.id, o.id) || w.rng.Float64() < w.loss {
					return
				}
				o.run(o.life, func() { o.step(ServerInput{Kind: EvictArrived, Server: s.id, Data: data, Token: answered}) })
			})
		}
		ask(func(b []byte) {
			w.after(w.between(time.Millisecond, 20*time.Millisecond), func() {
				if over || w.separated(s.id, o.id) {
					return
				}
				reply = MergeReplies(reply, b)
				missing = slices.DeleteFunc(missing, func(id nid.NID) bool { return id == o.id })
				if asked--; asked == 0 {
					finish()
				}
			})
		})
		if w.rng.Float64() < w.late {
			w.after(w.between(time.Second, 40*time.Second), func() { ask(func([]byte) {}) })
		}
	}
	w.after(400*time.Millisecond, finish)
}

// poll is discovery at one server.
func (w *world) poll(s *server) {
	w.after(200*time.Millisecond, func() { w.poll(s) })
	if !s.up || s.stopped {
		return
	}
	alive := 1
	for _, o := range w.servers {
		if o == s {
			continue
		}
		v := s.views[o.id]
		if o.up && !o.stopped && w.now >= o.ready && !w.separated(s.id, o.id) {
			v.heard = w.now
		}
		if now := w.now-v.heard < w.detect-s.quick; now != v.alive && w.now >= s.unsure {
			if v.alive = now; !now {
				v.lifetime++
			}
			s.step(ServerInput{Kind: ServerHealth, Server: o.id, Alive: v.alive, Lifetime: v.lifetime})
		}
		if v.alive {
			alive++
		}
	}
	if quorum := alive*2 > len(w.servers); quorum != s.quorum {
		s.quorum = quorum
		s.step(ServerInput{Kind: QuorumIs, Alive: quorum, Unsure: w.now < s.unsure})
	}
}

// pause has a node stand still for a while, as with SIGSTOP.
func (w *world) pause(n node, d time.Duration) {
	b := n.host()
	if !b.up || b.stopped {
		return
	}
	w.log("%v stands still for %v", b.id, d)
	life := b.life
	b.stop()
	w.after(d, func() {
		if !b.up || b.life != life {
			return
		}
		w.log("%v goes on", b.id)
		if s, ok := n.(*server); ok {
			for _, v := range s.views { // any order: each by itself
				v.heard += d // its ages are what they were
			}
			s.unsure = w.now + time.Second
		}
		b.resume()
	})
}

// client is a client's process.
type client struct {
	base
	name   ClientID
	m      *Client
	out    ClientOutput
	wants  []nid.NID
	events []ClientEvent
	at     []time.Duration // of events
	busy   nid.NID         // it exchanges other messages with this server all the time
}

func (c *client) start() {
	c.up, c.stopped, c.inbox = true, false, nil
	c.life++
	m, err := NewClient(ClientConfig{ID: c.name, Incarnation: c.life << 20, Servers: c.ids(), Seed: c.w.rng.Uint64()})
	if err != nil {
		c.w.t.Fatal(err)
	}
	c.m = m
	c.step(ClientInput{Kind: ClientStart})
}

func (c *client) ids() []nid.NID { return c.w.servers[0].ids }

func (c *client) kill() {
	c.w.log("client %x dies", c.name[:4])
	c.up = false
}

func (c *client) deliver(from nid.ProcessID, data []byte) {
	c.step(ClientInput{Kind: ClientArrived, From: from, Data: data})
}

func (c *client) step(in ClientInput) {
	c.out.Reset()
	wake := c.m.Step(c.w.now, in, &c.out)
	effects, buf := slices.Clone(c.out.Effects), slices.Clone(c.out.Buf)
	c.wake(wake, func() { c.step(ClientInput{}) })
	for i := range effects {
		e := &effects[i]
		switch e.Kind {
		case SendTo:
			c.w.send(c.id, e.To.NID, buf[e.Begin:e.End])
		case LookAt:
			in := ClientInput{Kind: Traffic, Server: e.To.NID}
			if c.busy == e.To.NID {
				in.Sent, in.Heard = c.w.now, c.w.now
			}
			c.step(in)
		case Tell:
			c.told(e.Event)
		}
	}
}

func (c *client) told(e ClientEvent) {
	c.w.log("client %x/%d: %v %v %v/%d", c.name[:4], e.Incarnation, e.Kind, e.Code, e.Server, e.Epoch)
	c.events, c.at = append(c.events, e), append(c.at, c.w.now)
	if e.Kind == MasterChosen {
		for _, id := range c.wants {
			if id != e.Server {
				c.step(ClientInput{Kind: Attach, Server: id})
			}
		}
	}
}

// count is how often a client was told of a kind of event.
func (c *client) count(k ClientEventKind) (n int) {
	for _, e := range c.events {
		if e.Kind == k {
			n++
		}
	}
	return n
}

// doubt has every client use all its connections, as far as it takes to see that
// one is gone.
func (w *world) doubt() {
	for _, c := range w.clients {
		for _, id := range c.m.Status().Attached {
			c.run(c.life, func() { c.step(ClientInput{Kind: Doubt, Server: id}) })
		}
	}
}

// server returns the server with a NID.
func (w *world) server(id nid.NID) *server {
	s, _ := w.nodes[id].(*server)
	return s
}

// holders are the servers that a life of a client is connected to.
func (w *world) holders(c *client) (list []*server) {
	for _, s := range w.servers {
		if s.up {
			if _, ok := s.m.Client(c.name); ok {
				list = append(list, s)
			}
		}
	}
	return list
}
