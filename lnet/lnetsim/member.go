package lnetsim

import (
	"errors"
	"math/rand/v2"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/history"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/simlnd"
	"ulnet/portals"
)

// errUnanswered ends an operation whose MD lnet has given up.
var errUnanswered = errors.New("no answer in time")

// member is one incarnation of a node of a network.
type member struct {
	net   *network
	stack *Stack
	pcg   rand.PCG
	on    bool // the node starts operations at the configured rate
	ops   uint64
	marks []uint8 // for each operation what has happened to it, such as markDelivered
	busy  int     // number of operations in flight

	probing int // round of the probes that are being started; 0: operations that start are no probes
	free    *operation
}

// Marks of an operation, as bits.
const (
	markDelivered = 1 << iota // the target has delivered the operation's message
	markAnswered
	markTarget = iota // position of the lowest six bits of the target's ID
)

// start begins the incarnation of the node.
func (m *member) start() error {
	cfg := &m.net.cfg
	m.pcg.Seed(m.stack.Host.Incarnation().Seed, 1)
	_, _, err := m.stack.Table.Post(testPortal, portals.Match{Ignore: ^uint64(0)}, portals.MD{
		Segments: []lnd.Segment{m.net.memory}, Threshold: portals.ThresholdInfinite,
		Options: portals.OpPut | portals.OpGet | portals.ManageRemote | portals.Truncate, Handler: m.arrived,
	}, portals.Retain)
	if err != nil {
		return err
	}
	m.stack.Host.OnCommand(m.command)
	switch {
	case cfg.Operations > 0:
		m.stack.Host.Clock().AfterFunc(1, m.goOn)
	case cfg.Rate > 0:
		m.on = true
		period := m.period()
		m.stack.Host.Clock().AfterFunc(time.Duration(m.pcg.Uint64()%uint64(period)), m.tick)
	}
	return nil
}

func (m *member) now() time.Duration { return m.stack.Host.Clock().Now() }

func (m *member) period() time.Duration {
	return max(time.Duration(float64(time.Second)/m.net.cfg.Rate), time.Microsecond)
}

// tick starts an operation, unless the limit of operations in flight is reached, and schedules
// the next one.
func (m *member) tick() {
	m.stack.Host.Clock().AfterFunc(m.period(), m.tick)
	switch {
	case !m.on:
	case m.busy >= m.net.cfg.Outstanding:
		m.net.stats.HeldBack++
	default:
		m.begin(m.net.cfg.Kind, m.partner(), false)
	}
}

// goOn starts operations until the limit of operations in flight is reached. It does so only if
// config.Operations says that each node does a number of operations as fast as it can.
func (m *member) goOn() {
	cfg := &m.net.cfg
	for m.ops < uint64(cfg.Operations) && m.busy < cfg.Outstanding {
		m.begin(cfg.Kind, m.partner(), false)
	}
}

// partner draws the target of the next operation.
func (m *member) partner() sim.NodeID {
	nodes := m.net.cfg.Nodes
	id := int(m.stack.Host.ID())
	return sim.NodeID((id + 1 + int(m.pcg.Uint64()%uint64(m.net.cfg.Partners))) % nodes)
}

// take returns a free operation, or makes one.
func (m *member) take() *operation {
	o := m.free
	if o == nil {
		o = &operation{member: m}
		o.handler = o.event
		o.segments[0] = m.net.memory
		return o
	}
	m.free, o.next = o.next, nil
	return o
}

func (m *member) give(o *operation) { o.next, m.free = m.free, o }

// arrived is the handler of PUTs and GETs from other nodes.
func (m *member) arrived(e *portals.Event) {
	if e.Err != nil || e.Kind != portals.EventPut && e.Kind != portals.EventGet {
		return
	}
	from, ok := simlnd.Node(e.Source.NID)
	if !ok {
		from = m.stack.Host.ID() // a message to the node itself came by loopback
	}
	m.net.delivered(from, m.stack.Host.ID(), e)
	m.tell(history.Delivery, from, e.MatchBits, "")
}

func (m *member) tell(kind history.Kind, subject sim.NodeID, value uint64, text string) {
	if m.net.cfg.OnEvent != nil {
		m.stack.Host.Emit(sim.Event{Kind: uint16(kind), Subject: subject, Value: value, Text: text})
	}
}

// command handles a verb of a scenario: "put 7 100", "urgent 7", "start", "stop", "leave".
func (m *member) command(text string) {
	switch verb, args := scenario.ParseCommand(text); verb {
	case "start", "stop":
		m.on = verb == "start"
	case "leave":
		_ = m.stack.Close() // an error only means that waiting messages were dropped
	case "probe":
		m.probe()
	case "unplug", "plug", "sever", "mend":
		m.net.cable(m, verb, simlnd.Rail(args.Int(0)-1))
	default:
		for range max(args.Int(1), 1) {
			m.begin(parseKind(verb), args.Node(0), verb == "urgent")
		}
	}
}
