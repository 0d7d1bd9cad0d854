package healthsim

import (
	"ulnet/health"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
)

// serverProgram is what the commands of scenarios need of a server, and clientProgram what they
// need of a client's node, whether it runs a machine or a whole stack.
type (
	serverProgram interface {
		drain(on bool)
		shed(count int)
		evict(client health.ClientID)
	}
	clientProgram interface {
		attach(server nid.NID, on bool) // connects to a server, or disconnects from it
		doubt(server nid.NID)
		leave()
		busy(on bool)
		talk()                // other programs of the node begin or stop to exchange messages with servers, as nodeHistory.talks says
		quit()                // the client's process has ended
		become(as sim.NodeID) // the client's process has ended; another one begins here, with the client id of the given node
	}
)

// order carries out a command of a scenario at a server.
func (n *network) order(id sim.NodeID, s serverProgram, verb string, args scenario.Args) {
	switch verb {
	case "drain":
		n.groundTruth.nodes[id].drains = args.Word(0) == "on"
		s.drain(args.Word(0) == "on")
	case "shed":
		s.shed(args.Int(0))
	case "evict":
		n.byHand(args.Node(0))
		s.evict(clientID(args.Node(0)))
	case "disk":
		n.disks[id].broken = args.Word(0) == "broken"
	}
	n.groundTruth.reach()
}

// use carries out a command of a scenario at a client's node, and records it in the
// ground truth.
func (n *network) use(id sim.NodeID, c clientProgram, text string) {
	verb, args := scenario.ParseCommand(text)
	f, on := &n.groundTruth.nodes[id], args.Word(0) == "on"
	switch verb {
	case "traffic":
		f.talks, f.talked = on, true
		c.talk()
	case "clientless":
		f.clientless = on
		c.talk()
	case "busy":
		c.busy(on)
	case "quit":
		n.groundTruth.end(id, true)
		c.quit()
	case "impersonate":
		if other := args.Node(0); other != id && !n.isServer(other) {
			n.groundTruth.impersonates(id, other)
			c.become(other)
		}
	default:
		if !f.quit || !n.cfg.stacks { // after the client has quit, bare machines still take the commands attach and detach, and remember them for the node's next client
			n.connect(id, c, verb, args)
		}
	}
}

// connect carries out a command for a client that runs.
func (n *network) connect(id sim.NodeID, c clientProgram, verb string, args scenario.Args) {
	switch verb {
	case "attach", "detach":
		for server := range args.Nodes(0).All(n.cfg.servers) {
			c.attach(simlnd.NID(server), verb == "attach")
		}
	case "doubt":
		for _, server := range n.client(id).Status().Attached {
			c.doubt(server)
		}
	case "leave":
		n.groundTruth.end(id, false)
		c.leave()
	}
}
