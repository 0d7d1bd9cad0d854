package rmcastsim

import (
	"math/rand/v2"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/machine"
	"ulnet/scoll/rmcast/engine"
	"ulnet/scoll/rmcast/wire"
)

// program is the machines of a node: a member and, on the first nodes, a manager.
type program struct {
	net    *Net
	id     sim.NodeID
	m      *engine.Machine
	g      *engine.Manager // nil unless the node is a manager
	rng    *rand.Rand
	now    time.Duration // time by the node's own clock
	wake   time.Duration
	manage time.Duration // when the manager must be stepped
	sends  *sim.Output[*kit.Message]

	outbox  []*Message // messages that the machine has not accepted
	offered bool       // the first message of outbox is being offered
}

// input is an input of a node's member or manager.
type input struct {
	engine.Input
	manager bool
}

// boot begins an incarnation. It keeps no state of the incarnation before.
func (n *Net) boot(incarnation sim.Incarnation, _ sim.Program[*kit.Message]) sim.Program[*kit.Message] {
	cfg := n.memberConfig(incarnation)
	p := &program{net: n, id: incarnation.Node, m: engine.New(cfg), rng: rand.New(rand.NewPCG(incarnation.Seed, 0x1055)), wake: machine.Never, manage: machine.Never}
	if int(incarnation.Node) < n.cfg.Managers {
		p.g = engine.NewManager(n.managerConfig(incarnation))
	}
	n.began(p, incarnation, cfg.Incarnation)
	return p
}

// incarnationOf returns the first incarnation number of a member on a node. It leaves a gap to the
// next, because the number rises each time the member joins again.
func incarnationOf(incarnation sim.Incarnation) uint64 { return (incarnation.Number + 1) << 20 }

func (n *Net) memberConfig(incarnation sim.Incarnation) engine.Config {
	cfg := n.cfg.Rmcast.Engine()
	cfg.Self, cfg.Incarnation, cfg.Group, cfg.Managers, cfg.Seed = simlnd.NID(incarnation.Node), incarnationOf(incarnation), group, n.managers, incarnation.Seed
	cfg.Capacity = n.cfg.Capacity
	if !n.cfg.NoMulticast {
		cfg.MTU = wire.HeaderSize + n.cfg.Manager.Fragment
	}
	return cfg
}

func (n *Net) managerConfig(incarnation sim.Incarnation) engine.ManagerConfig {
	cfg := n.cfg.Manager
	cfg.Self, cfg.Incarnation, cfg.Group, cfg.Managers = simlnd.NID(incarnation.Node), incarnationOf(incarnation), group, n.managers
	return cfg
}

// Step implements sim.Program. It steps the machines on an input, and on the inputs that their
// effects cause at once.
func (p *program) Step(now time.Duration, in sim.Input[*kit.Message], out *sim.Output[*kit.Message]) time.Duration {
	n := p.net
	n.queue, p.sends, p.now = n.queue[:0], out, now
	switch in.Kind {
	case sim.Start:
		if n.nodes[p.id].wants {
			p.input(engine.Input{Kind: engine.Join})
		}
	case sim.Message:
		p.take(in.From, in.Msg)
	case sim.Command:
		p.command(in.Text)
	}
	n.queue = append(n.queue, input{}, input{manager: true})
	for i := 0; i < len(n.queue); i++ {
		p.step(now, n.queue[i])
	}
	p.sends = nil
	return min(p.wake, p.manage)
}

func (p *program) step(now time.Duration, in input) {
	n := p.net
	if in.manager && p.g == nil {
		return
	}
	n.out.Reset()
	if in.manager {
		p.manage = p.g.Step(now, in.Input, &n.out)
	} else {
		p.wake = p.m.Step(now, in.Input, &n.out)
	}
	for i := range n.out.Effects {
		p.apply(&n.out.Effects[i])
	}
	n.nodes[p.id].incarnation = p.incarnation()
}

// incarnation returns that of the node's member. It also changes without an effect: when a node that wants to join is
// told that there was a member with its ID, it takes another one.
func (p *program) incarnation() uint64 {
	_, o := p.m.Farewell()
	return o.Incarnation - 1
}

func (p *program) input(in engine.Input) { p.net.queue = append(p.net.queue, input{Input: in}) }

// take queues a message that has arrived, as an input of the machine.
func (p *program) take(from sim.NodeID, m *kit.Message) {
	in := engine.Input{Kind: engine.Arrival, From: simlnd.NID(from), Data: m.Data, Multicast: m.Kind == Cast}
	switch m.Kind {
	case Control:
		in.Kind = engine.Control
	case order:
		in.Kind = engine.Instructed
		p.net.queue = append(p.net.queue, input{in, true})
	}
	p.input(in)
}

// command handles a verb of a scenario, or a report of the oracle.
func (p *program) command(text string) {
	verb, args := scenario.ParseCommand(text)
	switch verb {
	case "send":
		p.outbox = append(p.outbox, p.net.ledger.begin(p.id, args)...)
		p.offer()
	case "join":
		p.net.nodes[p.id].wants = true
		p.input(engine.Input{Kind: engine.Join})
	case "leave":
		p.net.leaves(p.id, p.now)
		p.input(engine.Input{Kind: engine.Leave})
	case "faults":
		p.input(engine.Input{Kind: engine.SetFaults, Faults: faults(args)})
	case "dead", "alive", "doubted":
		p.net.queue = append(p.net.queue, input{engine.Input{Kind: engine.Health, From: simlnd.NID(args.Node(0)), Alive: verb == "alive", Doubt: verb == "doubted"}, true})
	case "ended":
		p.net.queue = append(p.net.queue, input{engine.Input{Kind: engine.Ended, From: simlnd.NID(args.Node(0))}, true})
	}
}

// offer passes the next message to the machine.
func (p *program) offer() {
	if len(p.outbox) > 0 && !p.offered {
		m := p.outbox[0]
		p.offered = true
		p.input(engine.Input{Kind: engine.Send, Data: m.payload(), Token: m})
	}
}

// faults parses "faults ACKS DATAGRAMS".
func faults(args scenario.Args) engine.Faults {
	return engine.Faults{Acks: args.Float(0), Datagrams: args.Float(1)}
}

func (p *program) status() (engine.Status, bool) { return p.m.Status(), true }
func (p *program) stats() engine.Stats           { return p.m.Stats() }

func (p *program) managing() (g engine.Managing, ok bool) {
	if p.g == nil {
		return g, false
	}
	return p.g.Status(), true
}
