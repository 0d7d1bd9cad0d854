package healthsim

import (
	"slices"
	"time"

	"ulnet/health"
	"ulnet/health/engine"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// busyInterval is the interval at which a busy client sends its master messages of other kinds
// than client health.
const busyInterval = time.Second

// client runs the machine of a client on a node, and acts as its program.
type client struct {
	net         *network
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
func (n *network) bootClient(incarnation sim.Incarnation) sim.Program[*message] {
	c := &client{
		net: n, id: incarnation.Node, incarnation: incarnationOf(incarnation), now: incarnation.Now, wants: n.wants(incarnation.Node),
		wake: machine.Never, sent: make(map[nid.NID]time.Duration), heard: make(map[ni]time.Duration),
	}
	if !c.begin(clientID(incarnation.Node), incarnation) {
		return nil
	}
	c.talk()
	return c
}

// history returns what the simulation did to the node.
func (c *client) history() *nodeHistory { return &c.net.groundTruth.nodes[c.id] }

// wants returns the servers to which the client on a node connects besides its master.
func (n *network) wants(id sim.NodeID) (list []nid.NID) {
	for k := range min(n.cfg.attach, n.cfg.servers) {
		list = append(list, n.ids[(int(id)*7+k)%n.cfg.servers])
	}
	return list
}

// begin makes a machine for the client with the given id.
func (c *client) begin(id health.ClientID, incarnation sim.Incarnation) bool {
	var err error
	c.m, err = engine.NewClient(engine.ClientConfig{
		ID: id, Incarnation: epoch + uint64(incarnation.Now), Servers: c.net.ids, Timing: c.net.cfg.timing, Seed: incarnation.Seed,
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
		c.net.use(c.id, c, in.Text)
	}
	if now >= c.wake {
		c.input(engine.ClientInput{Kind: engine.ClientTimer})
	}
	c.steps()
	if now >= c.other {
		c.work()
	}
	c.out = nil
	return max(min(c.wake, c.other), now+1)
}

func (c *client) input(in engine.ClientInput) { c.net.clientQueue = append(c.net.clientQueue, in) }

// steps passes all queued inputs to the machine, and the inputs that follow from them.
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

// take converts a message that has arrived to an input.
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
		c.send(nodeOfNID(e.To.NID), &message{kind: ofHealth, data: slices.Clone(n.clientOut.Data(e))})
	case engine.LookAt:
		at := e.To.NID
		c.input(engine.ClientInput{Kind: engine.Traffic, Server: at, Sent: c.sent[at], Heard: c.heard[ni{nodeOfNID(at), e.PeerIncarnation}]})
	case engine.Tell:
		n.clientTold(c.id, &e.Event)
		c.out.Events = append(c.out.Events, clientEvent(&e.Event))
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
	c.net.ledger.of(c.id).spoke = c.net.Now()
	c.out.Sends = append(c.out.Sends, sim.Send[*message]{To: to, Msg: m, Size: m.size(), Priority: true})
}

// work sends messages that are not of client health: those of other programs of the node to all
// servers, or those of a busy client to its master.
func (c *client) work() {
	c.other = c.now + busyInterval
	to := []nid.NID{c.m.Status().Master}
	if c.history().talks {
		to = c.net.ids
	}
	for _, id := range to {
		if id.IsValid() {
			c.sent[id] = c.now
			c.send(nodeOfNID(id), &message{kind: traffic, data: make([]byte, 64)})
		}
	}
}

func (c *client) attach(server nid.NID, on bool) {
	c.wants = slices.DeleteFunc(c.wants, func(w nid.NID) bool { return w == server })
	kind := engine.Detach
	if on {
		kind, c.wants = engine.Attach, append(c.wants, server)
	}
	c.input(engine.ClientInput{Kind: kind, Server: server})
}

func (c *client) doubt(server nid.NID) {
	c.input(engine.ClientInput{Kind: engine.Doubt, Server: server})
}

func (c *client) leave() { c.input(engine.ClientInput{Kind: engine.ClientLeave}) }

func (c *client) busy(on bool) {
	c.history().talked = true
	if c.other = machine.Never; on {
		c.other = c.now
	}
}

func (c *client) talk() {
	if c.other = machine.Never; c.history().talks {
		c.other = c.now
	}
}

func (c *client) quit() { c.talk() } // the ground truth says that the client has quit, so the method steps passes no more inputs to the machine

func (c *client) become(as sim.NodeID) {
	c.begin(clientID(as), sim.Incarnation{Seed: uint64(c.now), Now: c.now})
	c.input(engine.ClientInput{Kind: engine.ClientStart})
}
