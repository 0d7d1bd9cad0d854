package healthsim

import (
	"cmp"
	"encoding/binary"
	"time"

	"ulnet/gossip/engine"
	"ulnet/health"
	healthengine "ulnet/health/engine"
	"ulnet/health/wire"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// Config configures a [Net]. The zero value of a field means its default.
type Config struct {
	// Servers is the number of servers, which are the first nodes, and Clients that of the
	// nodes after them.
	Servers, Clients int
	scenario.Network

	Timing    health.Timing // times of all servers and clients
	ClaimKeys keyring.Keys  // keys of all servers
	// Attach is the number of servers that a client connects to besides its master; 0: all,
	// negative: none.
	Attach int
	// Discovery is the longest time until a server learns of a death; the shortest is four
	// fifths of it. Default 3.4 s, as for gossip with five nodes.
	Discovery time.Duration
	// Gossip, if not 0, is the interval of real gossip, instead of the oracle.
	Gossip time.Duration
	// Store is the average duration of a write to the disk; single writes take between half of
	// it and one and a half of it. If it is negative, nothing is kept over a restart. Default 3
	// ms.
	Store time.Duration
	// Late is the probability that a request to evict reaches a server a second time, 1 to 40 s
	// after the first. Unsent is the probability that a broadcast fails.
	Late, Unsent float64
	// Stacks runs agents above portals and LNet instead of bare machines.
	Stacks bool
	// Bare leaves contents out of the digest, for speed.
	Bare bool
	// Tap, if not nil, is called with each message of client health that is sent, unless
	// Stacks is set.
	Tap func(from, to sim.NodeID, m *wire.Message)
}

// epoch is the wall clock at the begin of a simulation, in nanoseconds.
const epoch = 1_760_000_000_000_000_000

// watcher is a server, machine or agent; pinger is a client.
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

// Net is a network of servers and clients. Its methods record what is done to it as the ground
// truth, by which evictions are judged.
type Net struct {
	kit.Base

	cfg         Config
	timing      health.Timing
	ids         []nid.NID // NIDs of the servers
	list        *engine.List
	servers     []watcher // by node: its latest incarnation; nil before the first
	clients     []pinger  // by client's node: its latest incarnation; index 0 is node cfg.Servers
	stores      []*store  // durable stores of servers, at the level of stacks
	oracle      oracle
	groundTruth groundTruth
	ledger      ledger
	// impostors are the nodes that have run clients with ids of others.
	impostors []sim.NodeID

	serverQueue []healthengine.ServerInput // inputs to servers that the current step collects
	serverOut   healthengine.ServerOutput
	clientQueue []healthengine.ClientInput
	clientOut   healthengine.ClientOutput
	gossipOut   engine.Output
	broadcasts  uint64
}

// New makes a network, whose nodes start when it runs. The error is a *health.Error or one of the
// simulator.
func New(cfg Config) (*Net, error) {
	n, err := prepare(cfg)
	if err != nil {
		return nil, err
	}
	if n.cfg.Stacks {
		n.stores = make([]*store, n.cfg.Servers)
		return n, n.StartStacks(&n.cfg.Network, kit.Stacks{Boot: n.bootStack})
	}
	return n, kit.Start(&n.Base, &n.cfg.Network, kit.Machines[*message]{Boot: n.boot, Hash: hash, Bare: n.cfg.Bare}, nil)
}

// prepare makes a Net without the network of the simulator.
func prepare(cfg Config) (n *Net, err error) {
	n = &Net{cfg: cfg, servers: make([]watcher, cfg.Servers), clients: make([]pinger, cfg.Clients)}
	if n.timing, err = cfg.Timing.Filled(); err != nil {
		return nil, err
	}
	n.Around = n.happens
	n.cfg.Nodes = cfg.Servers + cfg.Clients
	n.cfg.Discovery = cmp.Or(cfg.Discovery, 3400*time.Millisecond)
	n.cfg.Store = cmp.Or(cfg.Store, 3*time.Millisecond)
	n.cfg.Attach = cmp.Or(cfg.Attach, cfg.Servers)
	for id := range sim.NodeID(cfg.Servers) {
		n.ids = append(n.ids, simlnd.NID(id))
	}
	if cfg.Stacks && cfg.Gossip == 0 {
		n.cfg.Gossip = stackGossip
	}
	if n.cfg.Gossip > 0 {
		if n.list, err = engine.NewList(n.ids); err != nil {
			return nil, err
		}
	}
	n.oracle.init(n)
	n.groundTruth.init(n)
	n.ledger.init(n)
	return n, nil
}

// boot begins an incarnation. A server keeps what is on its disk.
func (n *Net) boot(incarnation sim.Incarnation, kept sim.Program[*message]) sim.Program[*message] {
	n.oracle.changed()
	n.groundTruth.began(incarnation.Node)
	if n.isServer(incarnation.Node) {
		old, _ := kept.(*server)
		return n.bootServer(incarnation, old)
	}
	return n.bootClient(incarnation)
}

// firstClient is the node of the first client.
func (n *Net) firstClient() sim.NodeID { return sim.NodeID(n.cfg.Servers) }

func (n *Net) isServer(id sim.NodeID) bool { return int(id) < n.cfg.Servers }

// client is the client on a node.
func (n *Net) client(id sim.NodeID) pinger { return n.clients[id-n.firstClient()] }

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
