package healthsim

import (
	"encoding/binary"
	"time"

	"ulnet/gossip/engine"
	"ulnet/health"
	healthengine "ulnet/health/engine"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// config configures a network.
type config struct {
	scenario.Network
	servers, clients int           // numbers of nodes; the servers come first
	timing           health.Timing // times of all servers and clients; 0 stands for a default
	claimKeys        keyring.Keys  // keys with which all servers sign and verify claims
	attach           int           // number of servers that a client connects to besides its master
	discovery        time.Duration // longest time until a server learns of a death; the shortest is four fifths of it
	gossip           time.Duration // interval of real gossip; 0: the oracle takes its place
	// store is the average duration of a write to the disk; single writes take between half of it
	// and one and a half of it. If it is 0, there is no disk.
	store time.Duration
	// late is the probability that a request to evict reaches a server a second time, 1 to 40 s
	// after the first. unsent is the probability that a broadcast fails.
	late, unsent float64
	stacks       bool // agents above portals and LNet run instead of bare machines
}

// epoch is the wall clock at the start of a simulation, in nanoseconds since 1970.
const epoch = 1_760_000_000_000_000_000

// watcher is a server, and pinger a client; each is a machine or an agent.
type (
	watcher interface {
		Clients() []health.ClientInfo
		Client(id health.ClientID) (health.ClientInfo, bool)
		Buried(id health.ClientID) (incarnation uint64, ok bool)
		Status() health.ServerStatus
		Stats() health.ServerStats
	}
	pinger interface {
		Status() health.ClientStatus
		Stats() health.ClientStats
	}
)

// network is a network of servers and clients. Its methods record what is done to its nodes and
// links (the ground truth), from which it judges evictions.
type network struct {
	kit.Base

	cfg         config
	timing      health.Timing // cfg.timing with its defaults
	ids         []nid.NID     // NIDs of the servers
	list        *engine.List
	servers     []watcher // by node: the latest incarnation; nil before the first
	clients     []pinger  // by client's node, from node cfg.servers on: the latest incarnation
	disks       []*disk   // by server; nil before its first incarnation
	oracle      oracle
	groundTruth groundTruth
	ledger      ledger
	losses      losses
	// impostors are the nodes that have run clients with the id of another node's client.
	impostors []sim.NodeID

	serverQueue []healthengine.ServerInput // inputs to servers that the current step has collected
	serverOut   healthengine.ServerOutput
	clientQueue []healthengine.ClientInput
	clientOut   healthengine.ClientOutput
	gossipOut   engine.Output
	broadcasts  uint64
}

// newNet makes a network, whose nodes start when it runs. The error is a *health.Error or one of the
// simulator.
func newNet(cfg config) (n *network, err error) {
	n = &network{cfg: cfg, servers: make([]watcher, cfg.servers), clients: make([]pinger, cfg.clients), disks: make([]*disk, cfg.servers)}
	if n.timing, err = cfg.timing.Filled(); err != nil {
		return nil, err
	}
	for id := range sim.NodeID(cfg.servers) {
		n.ids = append(n.ids, simlnd.NID(id))
	}
	if cfg.gossip > 0 {
		if n.list, err = engine.NewList(n.ids); err != nil {
			return nil, err
		}
	}
	n.Around = n.happens
	n.oracle.init(n)
	n.groundTruth.init(n)
	n.ledger.init(n)
	n.losses.init(n)
	if cfg.stacks {
		return n, n.StartStacks(&cfg.Network, kit.Stacks{Boot: n.bootStack})
	}
	return n, kit.Start(&n.Base, &cfg.Network, kit.Machines[*message]{Boot: n.boot, Hash: hash}, nil)
}

// boot begins an incarnation. A server keeps what is on its disk.
func (n *network) boot(incarnation sim.Incarnation, kept sim.Program[*message]) sim.Program[*message] {
	n.oracle.Changed()
	n.groundTruth.began(incarnation.Node)
	if n.isServer(incarnation.Node) {
		return n.bootServer(incarnation, kept != nil)
	}
	return n.bootClient(incarnation)
}

// firstClient is the node of the first client.
func (n *network) firstClient() sim.NodeID { return sim.NodeID(n.cfg.servers) }

func (n *network) isServer(id sim.NodeID) bool { return int(id) < n.cfg.servers }

// client is the client on a node.
func (n *network) client(id sim.NodeID) pinger { return n.clients[id-n.firstClient()] }

// clientID is the id of the client on a node.
func clientID(id sim.NodeID) (c health.ClientID) {
	c[0] = 0xC0
	binary.BigEndian.PutUint32(c[12:], uint32(id)+1)
	return c
}

// nodeOf is the node whose client has an id.
func nodeOf(c health.ClientID) sim.NodeID { return sim.NodeID(binary.BigEndian.Uint32(c[12:]) - 1) }

// processOf is the process on a node.
func processOf(id sim.NodeID) nid.ProcessID {
	return nid.ProcessID{NID: simlnd.NID(id), PID: nid.LustrePID}
}

// nodeOfNID returns the node with a NID.
func nodeOfNID(id nid.NID) sim.NodeID {
	node, _ := simlnd.Node(id)
	return node
}
