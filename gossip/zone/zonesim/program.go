package zonesim

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"ulnet/gossip/zone"
	"ulnet/gossip/zone/engine"
	"ulnet/gossip/zone/wire"
	"ulnet/lnd/sim"
)

// program is a machine on a node.
type program struct {
	member
	m     *engine.Machine
	stub  *stub // simulates the other members of the zone; nil: they run machines
	steps uint64

	lies      []*wire.Lists // forged lists that the next step sends
	disagrees bool
}

// boot begins an incarnation. A restarted node keeps only its incarnation number.
func (n *Net) boot(incarnation sim.Incarnation, _ sim.Program[message]) sim.Program[message] {
	p := &program{member: member{net: n, id: incarnation.Node, group: n.group(incarnation.Node)}}
	if err := p.begin(incarnation); err != nil {
		n.Failed(err)
		return nil
	}
	n.incarnations[incarnation.Node] = p
	n.faults.start(incarnation.Node)
	return p
}

// begin makes the machine.
func (p *program) begin(incarnation sim.Incarnation) (err error) {
	cfg := p.net.config(incarnation).Engine()
	cfg.Table = p.group.table
	if p.group.base > 0 {
		p.stub = newStub(p.group, &p.net.filled)
		cfg.Bootstrap = p.stub.bootstrap()
	}
	if p.m, err = engine.New(cfg); err == nil && p.net.cfg.Check {
		p.heard.init(&p.member)
	}
	return err
}

// config returns the configuration of an incarnation.
func (n *Net) config(incarnation sim.Incarnation) zone.Config {
	g := n.group(incarnation.Node)
	r := rand.New(rand.NewPCG(n.cfg.Seed, uint64(incarnation.Node)))
	cfg := n.cfg.Zone
	cfg.Zone, cfg.Self, cfg.Seed = g.name, g.self(incarnation.Node), incarnation.Seed
	if g.base == 0 {
		cfg.Bootstrap = draw(r, g, incarnation.Node, n.cfg.Bootstrap)
	}
	switch {
	case n.cfg.Supervisors == 0:
	case g == n.groups[0]:
		cfg.Supervisor = true
	default:
		cfg.Management = draw(r, n.groups[0], -1, n.cfg.Bootstrap)
	}
	return cfg
}

// Step implements sim.Program.
func (p *program) Step(now time.Duration, in sim.Input[message], out *sim.Output[message]) time.Duration {
	n := p.net
	input, ok := p.input(now, &in)
	n.out.Reset()
	var wake time.Duration
	if ok {
		wake = p.m.Step(now, input, &n.out)
	} else {
		wake = p.m.Step(now, engine.Input{}, &n.out)
	}
	if p.stub != nil {
		wake = p.stub.step(p, now, &in, wake)
	} else {
		p.tellLies()
		p.send(out)
		if in.Kind == sim.Reset && !slices.Contains(out.Ignore, in.From) {
			out.Watch = append(out.Watch, in.From) // go on watching: the connection may come back, and be lost again
		}
	}
	p.dispatch(out)
	for i := range n.out.Events {
		n.told(&p.member, &n.out.Events[i])
	}
	if p.steps++; n.cfg.Check {
		p.examine()
	}
	return wake
}

// input returns the input for the machine; false if only the time has changed.
func (p *program) input(now time.Duration, in *sim.Input[message]) (engine.Input, bool) {
	n := p.net
	switch in.Kind {
	case sim.Start:
		n.incs[p.id]++
		return engine.Input{Kind: engine.Join, Inc: n.incs[p.id]}, true
	case sim.Message:
		n.faults.reads(p.id, in.Msg.sent)
		if in.Msg.dispatch != nil {
			return engine.Input{Kind: engine.DispatchDelivered, Dispatch: in.Msg.dispatch}, true
		}
		n.msg = in.Msg.zone
		return engine.Input{Kind: engine.Delivered, Message: &n.msg, At: p.waited(now, in.Msg.sent)}, true
	case sim.Refused:
		if in.Msg.dispatch != nil {
			return engine.Input{Kind: engine.DispatchFailed, To: n.group(in.From).self(in.From)}, true
		}
		return engine.Input{Kind: engine.Failed, Node: p.group.ref(in.From)}, true
	case sim.Reset:
		return engine.Input{Kind: engine.Down, Node: p.group.ref(in.From)}, true
	case sim.Command:
		return p.command(in.Text)
	}
	return engine.Input{}, false
}

// waited returns when the transport received a message that has waited here, because this node
// is slow or was paused; 0 for a message that has not waited.
func (p *program) waited(now, sent time.Duration) time.Duration {
	if f := &p.net.faults.nodes[p.id]; f.slow || f.resumed != never && sent <= f.resumed {
		return max(now-(p.net.Now()-sent), 1)
	}
	return 0
}

// command executes a verb of a scenario.
func (p *program) command(text string) (engine.Input, bool) {
	verb, rest, _ := strings.Cut(text, " ")
	key, value, _ := strings.Cut(rest, " ")
	count, _ := strconv.Atoi(key)
	switch verb {
	case "leave":
		p.net.faults.silent(p.id, p.net.incs[p.id])
		return engine.Input{Kind: engine.Leave, Code: int32(count)}, true
	case "set":
		return engine.Input{Kind: engine.Set, Key: key, Value: []byte(value)}, true
	case "rm":
		return engine.Input{Kind: engine.Delete, Key: key}, true
	case "monitor":
		p.net.faults.watches(p.id)
		return engine.Input{Kind: engine.Set, Key: engine.MonitorKey}, true
	case "lose":
		if p.stub != nil {
			p.stub.losing = count
		}
	case "gain":
		if p.stub != nil {
			p.stub.gain(count)
		}
	default:
		p.forge(verb, rest)
	}
	return engine.Input{}, false
}

// send passes the messages to members of the node's own zone to the network.
func (p *program) send(out *sim.Output[message]) {
	n, g := p.net, p.group
	for i := range n.out.Sends {
		s := &n.out.Sends[i]
		to := g.at(s.To)
		if to < 0 {
			continue
		}
		node, size := g.first+sim.NodeID(to), wire.Size(g.table, &s.Message)
		n.count(&s.Message, size)
		out.Sends = append(out.Sends, sim.Send[message]{
			To: node, Msg: message{zone: s.Message, sent: n.Now()}, Size: size, Priority: s.Priority,
		})
	}
	for _, r := range n.out.Watch {
		if to := g.at(r); to >= 0 {
			out.Watch = append(out.Watch, g.first+sim.NodeID(to))
		}
	}
	for _, r := range n.out.Ignore {
		if to := g.at(r); to >= 0 {
			out.Ignore = append(out.Ignore, g.first+sim.NodeID(to))
		}
	}
}

// count counts the bytes of a message.
func (n *Net) count(m *wire.Message, size int) {
	if m.Kind == wire.Heartbeat {
		n.beats += uint64(size)
	} else {
		n.others += uint64(size)
	}
}

// dispatch sends the messages to other zones.
func (p *program) dispatch(out *sim.Output[message]) {
	n := p.net
	for i := range n.out.Dispatches {
		s := &n.out.Dispatches[i]
		if to, ok := n.nodeOf(s.To); ok {
			n.others += uint64(s.Size)
			out.Sends = append(out.Sends, sim.Send[message]{
				To: to, Msg: message{dispatch: s.Dispatch, sent: n.Now()}, Size: s.Size, Priority: s.Priority,
			})
		}
	}
}
