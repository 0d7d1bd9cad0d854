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
	// Servers are the first nodes, Clients those after them: together all of the network.
	Servers, Clients int
	scenario.Network

	Timing    health.Timing
	ClaimKeys keyring.Keys
	// Attach is to how many servers a client connects besides its master; 0: to
	// all, negative: to none.
	Attach int
	// Discovery is how long it takes until a server holds another one for dead, and
	// four fifths of that at least. Default 3.4 s, as gossip with five nodes.
	Discovery time.Duration
	// Gossip, if not 0, is the interval of real gossip, instead of the oracle.
	Gossip time.Duration
	// Store is how long a write to the disk takes, from half of it to one and a half;
	// negative: none, and nothing is kept over a restart. Default 3 ms.
	Store time.Duration
	// Late is the probability that a request to evict reaches a server once more, a
	// second to forty seconds after the first time; Unsent that a broadcast fails.
	Late, Unsent float64
	// Stacks runs agents above portals and LNet instead of bare machines.
	Stacks bool
	// Bare leaves contents out of the digest, for speed.
	Bare bool
	// Tap, if not nil, is told of each message of package health that is sent; not
	// at Stacks. OnServer and OnClient are told what the users of servers and
	// clients are.
	Tap      func(from, to sim.NodeID, m *wire.Message)
	OnServer func(at time.Duration, id sim.NodeID, e *health.Event)
	OnClient func(at time.Duration, id sim.NodeID, e *health.ClientEvent)
}

// epoch is what wall clocks show at the begin of a simulation, in nanoseconds.
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

// Net is a network of servers and clients. What is done to it through its
// methods is the groundTruth that evictions are judged by.
type Net struct {
	kit.Base

	cfg         Config
	timing      health.Timing
	ids         []nid.NID // of the servers
	list        *engine.List
	servers     []watcher // by node, of the latest incarnation; nil before the first
	clients     []pinger  // likewise, the first one is of node cfg.Servers
	stores      []*store  // at Stacks, of servers
	oracle      oracle
	groundTruth groundTruth
	ledger      ledger
	// impostors are the nodes that have run clients with ids of others.
	impostors []sim.NodeID

	serverQueue []healthengine.ServerInput // of the step that is made
	serverOut   healthengine.ServerOutput
	clientQueue []healthengine.ClientInput
	clientOut   healthengine.ClientOutput
	gossipOut   engine.Output
	broadcasts  uint64
}

// New makes a network. Its nodes start when it runs. The error is that of a
// *health.Error, or the simulator's.
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

// prepare makes a Net without a network.
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

// boot begins an incarnation. A server takes over what is on its disk.
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
