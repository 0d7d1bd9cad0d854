package healthsim

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"ulnet/health"
	"ulnet/health/engine"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// busyInterval is the time between two messages of a busy client to its master, apart from those
// of client health.
const busyInterval = time.Second

// client runs the machine of a client on a node, and acts as its program.
type client struct {
	net         *Net
	id          sim.NodeID
	incarnation uint64 // incarnation of the node
	m           *engine.Client
	wants       []nid.NID // servers that the program connects to besides the master
	wake        time.Duration
	other       time.Duration // when a busy client sends its next message; Never: the client is idle
	sent        map[nid.NID]time.Duration
	heard       map[ni]time.Duration

	now time.Duration // time of the current step
	out *sim.Output[*message]
}

// bootClient begins an incarnation of a client.
func (n *Net) bootClient(incarnation sim.Incarnation) sim.Program[*message] {
	c := &client{
		net: n, id: incarnation.Node, incarnation: incarnationOf(incarnation), wake: machine.Never, other: machine.Never,
		sent: make(map[nid.NID]time.Duration), heard: make(map[ni]time.Duration),
	}
	c.wants = n.wants(incarnation.Node)
	if !c.begin(clientID(incarnation.Node), incarnation) {
		return nil
	}
	if c.history().talks {
		c.other = incarnation.Now
	}
	return c
}

// history returns what the simulation did to the node.
func (c *client) history() *nodeHistory { return &c.net.groundTruth.nodes[c.id] }

// wants returns the servers that the client on a node connects to besides its master.
func (n *Net) wants(id sim.NodeID) (list []nid.NID) {
	for k := range min(n.cfg.Attach, n.cfg.Servers) {
		list = append(list, n.ids[(int(id)*7+k)%n.cfg.Servers])
	}
	return list
}

// begin makes the machine.
func (c *client) begin(id health.ClientID, incarnation sim.Incarnation) bool {
	var err error
	c.m, err = engine.NewClient(engine.ClientConfig{
		ID: id, Incarnation: epoch + uint64(incarnation.Now), Servers: c.net.ids, Timing: c.net.cfg.Timing, Seed: incarnation.Seed,
	})
	if err != nil {
		c.net.Failed(err)
		return false
	}
	c.net.clients[c.id-c.net.firstClient()] = c.m
	return true
}

// Step implements sim.Program.
func (c *client) Step(now time.Duration, in sim.Input[*message], out *sim.Output[*message]) time.Duration {
	c.now, c.out = now, out
	c.net.clientQueue = c.net.clientQueue[:0]
	switch in.Kind {
	case sim.Start:
		c.input(engine.ClientInput{Kind: engine.ClientStart})
	case sim.Message:
		c.take(in.From, in.Msg)
	case sim.Reset: // the transport reports a lost connection
		c.out.Watch = append(c.out.Watch, in.From)
		c.input(engine.ClientInput{Kind: engine.Doubt, Server: simlnd.NID(in.From)})
	case sim.Command:
		c.command(in.Text)
	}
	if now >= c.wake {
		c.input(engine.ClientInput{})
	}
	c.steps()
	if now >= c.other {
		c.work()
	}
	c.out = nil
	return max(min(c.wake, c.other), now+1)
}

func (c *client) input(in engine.ClientInput) { c.net.clientQueue = append(c.net.clientQueue, in) }

// steps steps the machine on all queued inputs, and on those that follow from them.
func (c *client) steps() {
	n := c.net
	if c.history().quit { // the client's process has ended
		c.wake, n.clientQueue = machine.Never, n.clientQueue[:0]
		return
	}
	for i := 0; i < len(n.clientQueue); i++ {
		n.clientOut.Reset()
		c.wake = c.m.Step(c.now, n.clientQueue[i], &n.clientOut)
		for k := range n.clientOut.Effects {
			c.apply(&n.clientOut.Effects[k])
		}
	}
	n.clientQueue = n.clientQueue[:0]
}

// take converts an arrived message to an input.
func (c *client) take(from sim.NodeID, m *message) {
	switch m.kind {
	case ofHealth:
		c.input(engine.ClientInput{Kind: engine.ClientArrived, From: processOf(from), PeerIncarnation: m.incarnation, Data: m.data})
	case traffic:
		c.heard[ni{from, m.incarnation}] = c.now
	default: // clients take no part in broadcasts
	}
}

// apply carries out an effect of the machine.
func (c *client) apply(e *engine.ClientEffect) {
	n := c.net
	switch e.Kind {
	case engine.SendTo:
		data := slices.Clone(n.clientOut.Data(e))
		n.tap(c.id, nodeOfNID(e.To.NID), data)
		c.send(nodeOfNID(e.To.NID), &message{kind: ofHealth, data: data})
	case engine.LookAt:
		at := e.To.NID
		c.input(engine.ClientInput{Kind: engine.Traffic, Server: at, Sent: c.sent[at], Heard: c.heard[ni{nodeOfNID(at), e.PeerIncarnation}]})
	case engine.Tell:
		n.clientTold(c.id, &e.Event)
		if !n.cfg.Bare {
			c.out.Events = append(c.out.Events, clientEvent(&e.Event))
		}
		c.told(&e.Event)
	}
}

// told acts on an event as the program of a client does: it connects to the servers that it
// wants, and watches their transport connections.
func (c *client) told(e *health.ClientEvent) {
	switch e.Kind {
	case health.MasterChosen:
		for _, id := range c.wants {
			if id != e.Server {
				c.input(engine.ClientInput{Kind: engine.Attach, Server: id})
			}
		}
	case health.Attached:
		c.out.Watch = append(c.out.Watch, nodeOfNID(e.Server))
	case health.Dropped:
		c.out.Ignore = append(c.out.Ignore, nodeOfNID(e.Server))
	default:
	}
}

func (c *client) send(to sim.NodeID, m *message) {
	m.incarnation = c.incarnation
	c.net.ledger.spoke(c.id)
	c.out.Sends = append(c.out.Sends, sim.Send[*message]{To: to, Msg: m, Size: m.size(), Priority: true})
}

// work sends messages of other programs of the node to all servers, or those of a busy client to
// its master.
func (c *client) work() {
	c.other = c.now + busyInterval
	if c.history().talks {
		for k, id := range c.net.ids {
			c.sent[id] = c.now
			c.send(sim.NodeID(k), &message{kind: traffic, data: make([]byte, 64)})
		}
		return
	}
	if master := c.m.Status().Master; master.IsValid() {
		c.sent[master] = c.now
		c.send(nodeOfNID(master), &message{kind: traffic, data: make([]byte, 64)})
	}
}

// command carries out a verb of a scenario.
func (c *client) command(text string) {
	verb, rest, _ := strings.Cut(text, " ")
	switch verb {
	case "attach", "detach":
		c.attach(verb == "attach", rest)
	case "doubt":
		for _, id := range c.m.Status().Attached {
			c.input(engine.ClientInput{Kind: engine.Doubt, Server: id})
		}
	case "leave":
		c.net.groundTruth.end(c.id, false)
		c.input(engine.ClientInput{Kind: engine.ClientLeave})
	case "busy":
		c.history().talked = true
		if c.other = machine.Never; rest == "on" {
			c.other = c.now
		}
	case "traffic", "quit", "clientless":
		c.net.used(c.id, verb, rest)
		if c.other = machine.Never; c.history().talks {
			c.other = c.now
		}
	case "impersonate":
		if other, ok := c.net.impersonated(c.id, rest); ok {
			c.begin(clientID(other), sim.Incarnation{Seed: uint64(c.now), Now: c.now})
			c.input(engine.ClientInput{Kind: engine.ClientStart})
		}
	}
}

// used records what a verb does to the client of a node.
func (n *Net) used(id sim.NodeID, verb, rest string) {
	f := &n.groundTruth.nodes[id]
	switch verb {
	case "traffic":
		f.talks, f.talked = rest == "on", true
	case "quit":
		n.groundTruth.end(id, true)
	case "clientless":
		f.clientless = rest == "on"
	}
}

// impersonated records that the client on a node takes the id of another one.
func (n *Net) impersonated(id sim.NodeID, rest string) (other sim.NodeID, ok bool) {
	number, _ := strconv.Atoi(rest)
	if other = sim.NodeID(number - 1); number <= n.cfg.Servers || other == id {
		return 0, false
	}
	n.groundTruth.impersonates(id, other)
	return other, true
}

// attach connects to some servers, or leaves them.
func (c *client) attach(on bool, text string) {
	kind := engine.Detach
	if on {
		kind = engine.Attach
	}
	set, _ := sim.ParseNodes(text, c.net.cfg.Servers)
	for id := range set.All(c.net.cfg.Servers) {
		server := simlnd.NID(id)
		c.wants = slices.DeleteFunc(c.wants, func(w nid.NID) bool { return w == server })
		if on {
			c.wants = append(c.wants, server)
		}
		c.input(engine.ClientInput{Kind: kind, Server: server})
	}
}
