package gossipsim

import (
	"strings"
	"time"

	"ulnet/gossip"
	"ulnet/gossip/engine"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/history"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/lnd/simlnd"
)

// program is a bare machine on a node.
type program struct {
	net         *Net
	m           *engine.Machine
	id          sim.NodeID
	incarnation sim.Incarnation
}

// The kinds of events of nodes. Three of them are those of package history: Join and Death,
// whose Subject is a participant and whose Value is its aliveness, and Leave, for a participant
// that left the list and for this node when it stopped. The machine's other kinds, such as
// those below, have numbers above history.Own.
const (
	stopped  = history.Own + history.Kind(engine.Stopped)  // the node has stopped taking part in gossip
	left     = history.Own + history.Kind(engine.Left)     // the node has stopped because it is not in the new list
	speaksUp = history.Own + history.Kind(engine.SpeaksUp) // the node's silence after the start has ended
)

// boot begins an incarnation. A restarted node knows nothing of its earlier incarnations.
func (n *Net) boot(incarnation sim.Incarnation, _ sim.Program[*kit.Message]) sim.Program[*kit.Message] {
	p := &program{net: n, id: incarnation.Node, incarnation: incarnation}
	list, err := n.lists.start(incarnation.Node)
	if err == nil {
		err = p.begin(list, n.cfg.Gossip)
	}
	if err != nil {
		n.Failed(err)
		return nil
	}
	n.began(incarnation.Node, p, incarnation, p.m.Silent())
	return p
}

// begin makes the machine.
func (p *program) begin(list *engine.List, cfg gossip.Config) (err error) {
	cfg.Seed, cfg.ColdStart = p.incarnation.Seed, p.net.cold(p.incarnation)
	c := cfg.Engine()
	c.Columns = p.net.cfg.Columns
	p.m, err = engine.New(c, list, list.Index(simlnd.NID(p.id)))
	return err
}

// cold reports whether an incarnation sends without a silence first.
func (n *Net) cold(incarnation sim.Incarnation) bool {
	if n.cfg.ColdStart != nil {
		return n.cfg.ColdStart(incarnation)
	}
	return n.cfg.Gossip.ColdStart && incarnation.Number == 0
}

// Step implements sim.Program.
func (p *program) Step(now time.Duration, in sim.Input[*kit.Message], out *sim.Output[*kit.Message]) time.Duration {
	n := p.net
	n.pool.delivered(in.Msg)
	var input engine.Input
	switch in.Kind {
	case sim.Message:
		input = engine.Input{Kind: engine.Ping, From: simlnd.NID(in.From), Data: in.Msg.Data}
		if in.Msg.Kind == reply {
			input.Kind = engine.Reply
		}
	case sim.Command:
		input = p.command(in.Text)
	}
	n.out.Reset()
	wake := p.m.Step(now, input, &n.out)
	for i := range n.out.Sends {
		s := &n.out.Sends[i]
		data := s.Data(&n.out)
		to, _ := simlnd.Node(s.To)
		out.Sends = append(out.Sends, sim.Send[*kit.Message]{To: to, Msg: n.pool.take(s.Reply, data), Size: len(data), Priority: true})
	}
	for i := range n.out.Events {
		p.tell(&n.out.Events[i], out)
	}
	return wake
}

// tell converts an event of the machine to one of the simulation.
func (p *program) tell(e *engine.Event, out *sim.Output[*kit.Message]) {
	n := p.net
	if n.cfg.Tell != nil {
		n.cfg.Tell(n.Now(), p.id, e)
	}
	if n.cfg.Bare && e.Kind <= engine.CameAlive {
		return
	}
	out.Events = append(out.Events, event(e, p.m))
}

// event is an event of a machine, for the simulation.
func event(e *engine.Event, m *engine.Machine) sim.Event {
	ev := sim.Event{Subject: history.NoNode}
	if id, ok := simlnd.Node(e.NID); ok && e.NID.IsValid() {
		ev.Subject = id
	}
	switch e.Kind {
	case engine.CameAlive:
		ev.Kind, ev.Value = uint16(history.Join), e.Aliveness
	case engine.Died:
		ev.Kind, ev.Value = uint16(history.Death), e.Aliveness
		if m.Stopped() || m.List().Index(e.NID) < 0 {
			ev.Kind = uint16(history.Leave)
		}
	default:
		ev.Kind, ev.Value = uint16(history.Own)+uint16(e.Kind), uint64(e.Alive)+e.Cycles
	}
	return ev
}

func (p *program) view() view          { return view{p.m.List(), p.m.AliveBits()} }
func (p *program) stopped() bool       { return p.m.Stopped() }
func (p *program) silent() bool        { return p.m.Silent() }
func (p *program) unsure() bool        { return p.m.Unsure() }
func (p *program) quorum() bool        { return p.m.Quorum() }
func (p *program) clock() uint64       { return p.m.Clock() }
func (p *program) stats() engine.Stats { return p.m.Stats() }

// command executes a verb of a scenario: "stage 1-34", "commit", "cancel", "misconfigure list",
// "misconfigure interval".
func (p *program) command(text string) (in engine.Input) {
	verb, arg, _ := strings.Cut(text, " ")
	switch verb {
	case "stage":
		list, err := p.net.lists.parse(arg)
		if err != nil {
			return in
		}
		return engine.Input{Kind: engine.Stage, List: list, Self: list.Index(simlnd.NID(p.id))}
	case "commit":
		in.Kind = engine.Commit
	case "cancel":
		in.Kind = engine.Cancel
	case "misconfigure":
		p.misconfigure(arg)
	}
	return in
}

// misconfigure restarts the machine with a parameter that others do not have.
func (p *program) misconfigure(what string) {
	cfg, list, err := p.net.misconfigured(what, p.m.List())
	if err != nil {
		return
	}
	p.incarnation.Number = 0 // the machine begins like the first incarnation of a node, which sends at once if ColdStart is set
	if err = p.begin(list, cfg); err != nil {
		p.net.Failed(err)
	}
}

// misconfigured returns a configuration and a list for a node. One parameter in them differs
// from that of the other nodes.
func (n *Net) misconfigured(what string, list *engine.List) (gossip.Config, *engine.List, error) {
	cfg := n.cfg.Gossip
	if what == "interval" {
		cfg.Interval *= 2
		return cfg, list, nil
	}
	list, err := n.lists.with(sim.NodeID(n.cfg.Nodes))
	return cfg, list, err
}
