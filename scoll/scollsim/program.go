package scollsim

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/simlnd"
	"ulnet/scoll"
	"ulnet/scoll/engine"
	"ulnet/scoll/wire"
)

// program is a bare machine on a node, with its service.
type program struct {
	net         *Net
	m           *engine.Machine
	id          sim.NodeID
	incarnation sim.Incarnation
	works       map[engine.RequestID]*work
	exposed     map[uint64]*message // data that other nodes may GET, by match bits
	fetches     map[engine.RequestID]*fetch
	errands     []errand
	port        port
	wake        time.Duration       // when the machine must be stepped
	news        map[sim.NodeID]bool // nodes that the oracle has reported since the start: whether they are alive
	arrived     *message            // message that arrived in this step
}

// errand is a request that a slow service runs.
type errand struct {
	at time.Duration
	id engine.RequestID
}

// boot begins an incarnation. It keeps no state of the incarnation before.
func (n *Net) boot(incarnation sim.Incarnation, _ sim.Program[*message]) sim.Program[*message] {
	cfg := n.cfg.Scoll.Engine()
	cfg.Self, cfg.Incarnation, cfg.Watched = simlnd.NID(incarnation.Node), incarnation.Number+1, n.oracle.on()
	p := &program{
		net: n, m: engine.New(cfg), id: incarnation.Node, incarnation: incarnation,
		works: make(map[engine.RequestID]*work), exposed: make(map[uint64]*message), news: make(map[sim.NodeID]bool), fetches: make(map[engine.RequestID]*fetch),
	}
	n.began(p, incarnation)
	return p
}

// Step implements sim.Program. It also steps the machine with the results of its effects.
func (p *program) Step(now time.Duration, in sim.Input[*message], out *sim.Output[*message]) time.Duration {
	n := p.net
	n.queue, p.arrived = n.queue[:0], nil
	switch in.Kind {
	case sim.Start:
		p.start()
	case sim.Message:
		p.take(in.From, in.Msg, out)
	case sim.Command:
		p.command(scenario.ParseCommand(in.Text))
	}
	p.runErrands(now)
	if len(n.queue) == 0 {
		n.queue = append(n.queue, engine.Input{})
	}
	for i := 0; i < len(n.queue); i++ {
		n.out.Reset()
		p.wake = p.m.Step(now, n.queue[i], &n.out)
		for j := range n.out.Effects {
			p.apply(now, &n.out.Effects[j], out)
		}
	}
	wake := min(p.wake, p.port.flush(now, n.cfg.Overhead, out))
	if len(p.errands) > 0 {
		wake = min(wake, p.errands[0].at)
	}
	return wake
}

func (p *program) groups() []scoll.GroupState { return p.m.Groups() }
func (p *program) stats() scoll.Stats         { return p.m.Stats() }

func (p *program) input(in engine.Input) { p.net.queue = append(p.net.queue, in) }

// start registers the service, and tells the machine which nodes start with the run.
func (p *program) start() {
	p.input(engine.Input{Kind: engine.Register, Service: service, OOB: true})
	if !p.net.oracle.on() {
		return // without the oracle nothing is to be reported, so large networks start fast
	}
	for id := range sim.NodeID(p.net.cfg.Nodes) {
		if id != p.id && p.thinksAtFirst(id) {
			p.input(engine.Input{Kind: engine.Health, From: simlnd.NID(id), Alive: true})
		}
	}
}

// take turns a message into an input, and answers GETs.
func (p *program) take(from sim.NodeID, m *message, out *sim.Output[*message]) {
	switch m.Kind {
	case Request, Progress:
		p.input(engine.Input{Kind: engine.Arrival, From: simlnd.NID(from), Data: m.data})
	case Reply:
		p.arrived = m
		in := engine.Input{
			Kind: engine.Return, From: simlnd.NID(from), Bits: m.Bits, Data: m.data, Payload: m.payload, Trailer: m.trailer,
			Length: len(m.data) + len(m.payload) + len(m.trailer),
		}
		if h, _, err := wire.ParseReplyHeader(m.data); err == nil && h.Speaks() {
			in.Payload, in.Carried = nil, m.payload
		}
		p.input(in)
	case Get:
		p.answerGet(from, m, out)
	case Data:
		p.fetched(m, out)
	}
}

func (p *program) put(to sim.NodeID, m *message, out *sim.Output[*message]) {
	if tap := p.net.cfg.Tap; tap != nil {
		tap(p.id, to, m.Kind)
	}
	p.port.put(to, m, p.net.cfg.Overhead, out)
}

// runErrands ends the work of a slow service that is due.
func (p *program) runErrands(now time.Duration) {
	for len(p.errands) > 0 && p.errands[0].at <= now {
		e := p.errands[0]
		p.errands = p.errands[1:]
		p.input(engine.Input{Kind: engine.InIncoming, ID: e.id})
		if w := p.works[e.id]; w != nil {
			w.worked = true
			p.answer(e.id, w)
		}
	}
}

func (p *program) addErrand(e errand) {
	p.errands = append(p.errands, e)
	slices.SortStableFunc(p.errands, func(a, b errand) int { return cmp.Compare(a.at, b.at) })
}

// command executes a verb of a scenario, or takes news of the oracle.
func (p *program) command(verb string, args scenario.Args) {
	if verb == "alive" || verb == "dead" {
		p.news[args.Node(0)] = verb == "alive"
		p.input(engine.Input{
			Kind: engine.Health, From: simlnd.NID(args.Node(0)), Alive: verb == "alive", Lifetime: uint64(args.Int(1)),
		})
		return
	}
	p.net.command(p, p.id, verb, args)
}

// thinksAtFirst reports whether this incarnation takes another node for alive when it begins.
func (p *program) thinksAtFirst(id sim.NodeID) bool {
	return p.net.cfg.AtFirst(id) && (p.incarnation.Number == 0 || !p.net.oracle.errs.on())
}

// isDead reports whether the node thinks, by the news of the oracle, that another is dead.
func (p *program) isDead(id sim.NodeID) bool {
	alive, ok := p.news[id]
	return !alive && (ok || !p.thinksAtFirst(id))
}

func (p *program) create(g *namedGroup, now bool) {
	o := &engine.Outgoing{Token: g, Service: service, Members: g.members, Tree: p.net.cfg.Tree}
	if now {
		o.Flags = wire.FlagModule
	}
	p.input(engine.Input{Kind: engine.Create, Broadcast: o})
}

func (p *program) destroy(g *namedGroup) {
	g.ending = true
	p.input(engine.Input{Kind: engine.Broadcast, Broadcast: &engine.Outgoing{
		Token: g, Group: g.id, Service: service, Flags: wire.FlagModule | wire.FlagLast,
	}})
}

func (p *program) abort() {
	for _, id := range slices.Sorted(maps.Keys(p.works)) {
		p.input(engine.Input{Kind: engine.Abort, ID: id})
	}
}

// send sends a request over a group that this node created, or of which it is a member.
func (p *program) send(g *namedGroup, b *Broadcast) scoll.Status {
	n, o := p.net, &b.order
	out := &engine.Outgoing{
		Token: b, Group: g.id, Service: service, Flags: modeFlags[o.mode],
		Payload: payloadOf(b.Number, o.payload), Bulk: uint64(o.bulk), Segment: n.cfg.Segment, Processing: o.processing, Carry: n.cfg.Carry,
	}
	if g.oob {
		out.Flags |= wire.FlagOOB
		out.Members, out.Tree = g.members, n.cfg.Tree
	}
	p.input(engine.Input{Kind: engine.Broadcast, Broadcast: out})
	return scoll.OK
}
