package engine

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/sim"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

const testGroup wire.GroupID = 7

// packet is a message between the machines of a world.
type packet struct {
	kind InputKind // one of Arrival, Control and Instructed
	data []byte
	cast bool // the packet is sent by multicast
}

// got is a message that a node delivered.
type got struct {
	origin wire.ID
	seq    uint64
	data   string
	at     time.Duration
}

// sent is a message that a node has sent.
type sent struct {
	at, released time.Duration
	data         string
	seq          uint64
	version      wire.Version
	failed       []wire.ID
	lost         error
	done         bool
}

// host is a simulated node: a member, and perhaps a manager.
type host struct {
	w            *world
	id           sim.NodeID
	m            *Machine
	g            *Manager
	out          Output
	queue        []Input
	toG          []Input
	got          []got
	sent         []*sent
	full         []*sent
	versions     []wire.Version
	joined       int
	gone         []error
	suspects     []wire.ID
	deaf         int
	doubting     int
	wakeM, wakeG time.Duration
}

// world is machines in virtual time. Messages between two nodes stay in order and are not
// lost, except multicasts.
type world struct {
	t         *testing.T
	net       *sim.Network[*packet]
	hosts     []*host
	cfg       Config
	manager   ManagerConfig
	managers  int
	change    func(id sim.NodeID, cfg *Config)
	loss      func(from, to sim.NodeID, p *packet) bool // reports whether a message is lost
	tap       func(from, to sim.NodeID, p *packet)
	onDeliver func(h *host, g got)
	onRelease func(h *host, s *sent)
	unchecked bool
	wall      uint64 // incarnations and epochs are wall-clock times from this one on; 0: small numbers
	rejoin    bool   // expelled nodes join the group again
	texts     int
	injected  []injection
	lists     map[wire.Version][]*peer // lists by version, as first seen at any node
}

// injection is a message that a node receives as if from another one.
type injection struct {
	from sim.NodeID
	p    *packet
}

func hostNID(id sim.NodeID) nid.NID { return nid.FromNumber(nid.MakeNet(nid.GNI, 0), uint32(id)+1) }

func hostID(n nid.NID) sim.NodeID { return sim.NodeID(n.Number()) - 1 }

const oneWay = time.Millisecond / 2

// newWorld makes n nodes, the first of which manages the group. None is a member yet.
func newWorld(t *testing.T, n int, change func(w *world, cfg *sim.Config[*packet])) *world {
	t.Helper()
	effort.OneGoroutine(t)
	w := &world{t: t, lists: map[wire.Version][]*peer{}, hosts: make([]*host, n), managers: 1, cfg: Config{MTU: 2048 + wire.HeaderSize, Guard: 2 * time.Millisecond}}
	cfg := sim.Config[*packet]{
		Nodes: n, Seed: 1, Topology: &sim.Flat{Link: link.Quality{Latency: link.Dist{Base: oneWay}}},
		Boot: w.boot,
		Hash: func(p **packet) uint64 {
			h := uint64((*p).kind)
			for _, x := range (*p).data {
				h = h*1099511628211 + uint64(x)
			}
			return h
		},
	}
	if change != nil {
		change(w, &cfg)
	}
	var err error
	if w.net, err = sim.New(cfg); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) boot(incarnation sim.Incarnation, _ sim.Program[*packet]) sim.Program[*packet] {
	cfg, manager := w.cfg, w.manager
	cfg.Self, cfg.Incarnation, cfg.Group = hostNID(incarnation.Node), 100*(incarnation.Number+1), testGroup
	for i := range w.managers {
		cfg.Managers = append(cfg.Managers, hostNID(sim.NodeID(i)))
	}
	if w.wall > 0 {
		cfg.Incarnation = w.wall + uint64(time.Second)*incarnation.Number
	}
	cfg.Seed = incarnation.Seed
	if w.change != nil {
		w.change(incarnation.Node, &cfg)
	}
	h := &host{w: w, id: incarnation.Node, m: New(cfg)}
	if int(incarnation.Node) < w.managers {
		manager.Self, manager.Incarnation, manager.Group, manager.Managers = cfg.Self, 1000*(incarnation.Number+1)+uint64(incarnation.Node), testGroup, cfg.Managers
		if w.wall > 0 {
			manager.Incarnation = cfg.Incarnation + uint64(incarnation.Node)
		}
		h.g = NewManager(manager)
	}
	w.hosts[incarnation.Node] = h
	return h
}

// Step implements sim.Program.
func (h *host) Step(now time.Duration, in sim.Input[*packet], out *sim.Output[*packet]) (wake time.Duration) {
	h.queue, h.toG = h.queue[:0], h.toG[:0]
	switch in.Kind {
	case sim.Message:
		h.arrived(in.From, in.Msg)
	case sim.Command:
		h.command(now, in.Text)
	}
	h.queue = append(h.queue, Input{})
	h.toG = append(h.toG, Input{})
	for len(h.queue)+len(h.toG) > 0 {
		if len(h.queue) > 0 {
			in := h.queue[0]
			h.queue = h.queue[1:]
			h.wakeM = h.step(now, h.m.Step, in, out)
			h.check(in, now)
			continue
		}
		in := h.toG[0]
		h.toG = h.toG[1:]
		if h.g != nil {
			lists := h.g.stats.Lists
			h.wakeG = h.step(now, h.g.Step, in, out)
			h.checkLists(lists)
		}
	}
	if h.g != nil {
		return min(h.wakeM, h.wakeG)
	}
	return h.wakeM
}

func (h *host) check(in Input, now time.Duration) {
	if h.w.unchecked {
		return
	}
	if err := h.m.invariants(); err != nil {
		panic(fmt.Sprintf("node %d at %v: after %v: %v", h.id, now, in.Kind, err))
	}
}

func (h *host) step(now time.Duration, step func(time.Duration, Input, *Output) time.Duration, in Input, out *sim.Output[*packet]) time.Duration {
	h.out.Reset()
	wake := step(now, in, &h.out)
	if wake <= now {
		panic(fmt.Sprintf("node %d wakes at %v, now %v", h.id, wake, now))
	}
	for i := range h.out.Effects {
		h.apply(now, &h.out.Effects[i], out)
	}
	return wake
}

func (h *host) arrived(from sim.NodeID, p *packet) {
	in := Input{Kind: p.kind, From: hostNID(from), Data: p.data, Multicast: p.cast}
	if p.kind == Instructed {
		h.toG = append(h.toG, in)
	}
	h.queue = append(h.queue, in)
}

func (h *host) command(now time.Duration, text string) {
	var who int
	switch {
	case text == "join":
		h.queue = append(h.queue, Input{Kind: Join})
	case scan(text, "inject %d", &who):
		h.arrived(h.w.injected[who].from, h.w.injected[who].p)
	case text == "leave":
		h.queue = append(h.queue, Input{Kind: Leave})
	case scan(text, "dead %d", &who):
		h.toG = append(h.toG, Input{Kind: Health, From: hostNID(sim.NodeID(who))})
	case scan(text, "doubted %d", &who):
		h.toG = append(h.toG, Input{Kind: Health, From: hostNID(sim.NodeID(who)), Doubt: true})
	case scan(text, "ended %d", &who):
		h.toG = append(h.toG, Input{Kind: Ended, From: hostNID(sim.NodeID(who))})
	case scan(text, "expel %d", &who):
		h.toG = append(h.toG, Input{Kind: Expel, From: hostNID(sim.NodeID(who))})
	case scan(text, "alive %d", &who):
		h.toG = append(h.toG, Input{Kind: Health, From: hostNID(sim.NodeID(who)), Alive: true})
	default: // send a message
		s := &sent{at: now, data: text}
		h.sent = append(h.sent, s)
		h.queue = append(h.queue, Input{Kind: Send, Data: []byte(text), Token: s})
	}
}

func scan(text, format string, who *int) bool {
	n, err := fmt.Sscanf(text, format, who)
	return n == 1 && err == nil
}

func (h *host) apply(now time.Duration, e *Effect, out *sim.Output[*packet]) {
	head := h.out.Buf[e.Head.Begin:e.Head.End]
	switch e.Kind {
	case DoMulticast:
		for i := range h.w.hosts {
			if to := sim.NodeID(i); to != h.id {
				h.put(to, &packet{Arrival, slices.Concat(head, e.Data), true}, out)
			}
		}
	case DoRepair:
		h.put(hostID(e.To), &packet{Arrival, slices.Concat(head, e.Data), false}, out)
	case DoControl:
		h.put(hostID(e.To), &packet{Control, slices.Clone(head), false}, out)
	case DoReport:
		if p := (&packet{Instructed, slices.Concat(head, e.Data), false}); e.To == hostNID(h.id) {
			h.arrived(h.id, p)
		} else {
			h.put(hostID(e.To), p, out)
		}
	case Deliver:
		g := got{e.Origin, e.Seq, string(e.Data), now}
		h.got = append(h.got, g)
		if h.w.onDeliver != nil {
			h.w.onDeliver(h, g)
		}
	case Accepted:
		e.Token.(*sent).seq = e.Seq
	case Full:
		h.full = append(h.full, e.Token.(*sent))
	case Room:
		for _, s := range h.full {
			h.queue = append(h.queue, Input{Kind: Send, Data: []byte(s.data), Token: s})
		}
		h.full = nil
	case Released, Lost:
		s := e.Token.(*sent)
		if s.done {
			panic("done twice")
		}
		s.done, s.released, s.lost, s.version = true, now, e.Why, e.Version
		s.failed = slices.Clone(h.out.IDs[e.Failed.Begin:e.Failed.End])
		if e.Kind == Released && h.w.onRelease != nil {
			h.w.onRelease(h, s)
		}
	case Joined:
		h.joined++
	case Changed:
		h.versions = append(h.versions, e.Version)
		if r := h.m.group.get(e.Version); r != nil {
			h.w.lists[e.Version] = r.peers
		}
	case Gone:
		h.gone = append(h.gone, e.Why)
		if h.w.rejoin {
			h.queue = append(h.queue, Input{Kind: Join})
		}
	case Suspect:
		h.suspects = append(h.suspects, e.Member)
	case Deaf:
		h.deaf++
	case Doubting:
		h.doubting++
	}
}

func (h *host) put(to sim.NodeID, p *packet, out *sim.Output[*packet]) {
	if h.w.tap != nil {
		h.w.tap(h.id, to, p)
	}
	if h.w.loss != nil && h.w.loss(h.id, to, p) {
		return
	}
	out.Sends = append(out.Sends, sim.Send[*packet]{To: to, Msg: p, Size: len(p.data)})
}

func (w *world) run(d time.Duration) {
	w.t.Helper()
	if err := w.net.Run(w.net.Now() + d); err != nil {
		w.t.Fatal(err)
	}
}

// form makes the first n nodes members.
func (w *world) form(n int) {
	w.t.Helper()
	w.run(0)
	for i := range n {
		w.net.Command(sim.NodeID(i), "join")
	}
	for range 200 {
		w.run(50 * time.Millisecond)
		if !slices.ContainsFunc(w.hosts[:n], func(h *host) bool { return h.joined == 0 || len(h.m.sender.stream.roster.peers) != n }) {
			w.run(100 * time.Millisecond)
			return
		}
	}
	for _, h := range w.hosts[:n] {
		w.t.Logf("node %d: joined %d, %v", h.id, h.joined, h.m.state)
	}
	w.t.Fatal("no group")
}

// send makes a node send a message.
func (w *world) send(id sim.NodeID, text string) *sent {
	w.net.Command(id, text)
	w.run(0)
	return w.hosts[id].sent[len(w.hosts[id].sent)-1]
}

// await runs the world until a message is released.
func (w *world) await(s *sent) {
	w.t.Helper()
	for range 2000 {
		if s.done {
			return
		}
		w.run(10 * time.Millisecond)
	}
	w.t.Fatalf("%.20q is not released", s.data)
}

// delivered counts the deliveries of a text by a node.
func (h *host) delivered(text string) (n int) {
	for _, g := range h.got {
		if g.data == text {
			n++
		}
	}
	return n
}

// want checks that nodes have delivered a text exactly once.
func (w *world) want(text string, ids ...sim.NodeID) {
	w.t.Helper()
	for _, id := range ids {
		if n := w.hosts[id].delivered(text); n != 1 {
			w.t.Errorf("node %d has delivered %.20q %d times", id, text, n)
		}
	}
}

func (w *world) all() (ids []sim.NodeID) {
	for i := range w.hosts {
		ids = append(ids, sim.NodeID(i))
	}
	return ids
}

// entries parses a control message.
func entries(p *packet) (list []wire.Entry) {
	_, _, b, err := wire.ParseControl(p.data)
	for err == nil && len(b) > 0 {
		var e wire.Entry
		e, b, err = wire.ParseEntry(b)
		list = append(list, e)
	}
	return list
}

// has reports whether a control message has entries of a kind.
func has(p *packet, kind wire.EntryKind) bool {
	return p.kind == Control && slices.ContainsFunc(entries(p), func(e wire.Entry) bool { return e.Kind == kind })
}

// long makes a text of n bytes in which each byte depends on its position.
func long(n int) string {
	var b []byte
	for len(b) < n {
		b = binary.BigEndian.AppendUint32(b, uint32(len(b)))
	}
	return string(b[:n])
}
