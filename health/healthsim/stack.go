package healthsim

import (
	"strconv"
	"strings"
	"time"

	"ulnet/gossip"
	"ulnet/health"
	"ulnet/health/collective"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/lnetsim"
	"ulnet/scoll"
)

// stack is a node above portals and LNet on a simulated host: a server with
// gossip, collectives and health, or a client.
type stack struct {
	net    *Net
	host   *simlnd.Host
	lnet   *lnetsim.Stack
	server *health.ServerAgent
	client *health.Connection
}

// stackGossip is the interval of gossip at Stacks by default.
const stackGossip = 200 * time.Millisecond

// newFabric makes a network of stacks.
func (n *Net) newFabric() (sim.Control, error) {
	n.stores = make([]*store, n.cfg.Servers)
	cfg := &n.cfg
	return simlnd.New(simlnd.Config{
		Nodes: cfg.Servers + cfg.Clients, Seed: cfg.Seed, Topology: cfg.Topology, AccessRate: cfg.AccessRate,
		CPU: cfg.CPU, Inbox: cfg.Inbox, StartAt: cfg.StartAt,
		Boot: func(h, kept *simlnd.Host) {
			if err := n.bootStack(h, kept != nil); err != nil {
				n.failed(err)
			}
		},
	})
}

// bootStack begins a life of a stack.
func (n *Net) bootStack(h *simlnd.Host, keeps bool) (err error) {
	k := &stack{net: n, host: h}
	n.truth.began(h.ID())
	if k.lnet, err = lnetsim.NewStack(h, lnetsim.StackConfig{}); err != nil {
		return err
	}
	h.OnCommand(k.command)
	if n.isServer(h.ID()) {
		return k.serve(keeps)
	}
	return k.dial()
}

// serve starts a server.
func (k *stack) serve(keeps bool) error {
	n, id, life := k.net, k.host.ID(), k.host.Life()
	agent, err := gossip.Start(k.lnet.Table, n.list, gossip.AgentConfig{
		Config: gossip.Config{Interval: n.cfg.Gossip, Seed: life.Seed, ColdStart: life.Number == 0},
	})
	if err != nil {
		return err
	}
	collectives, err := scoll.Start(k.lnet.Table, scoll.AgentConfig{View: agent})
	if err != nil {
		return err
	}
	all, err := collective.New(collective.Config{
		Agent: collectives, Servers: n.ids, Processing: n.timing.Broadcast, Clock: k.host.Clock(),
	})
	if err != nil {
		return err
	}
	old := n.stores[id]
	if n.stores[id] = newStore(n, k.host); keeps && old != nil {
		n.stores[id].records, n.stores[id].graves = old.records, old.graves
	}
	k.server, err = health.StartServer(k.lnet.Table, health.AgentConfig{
		ServerConfig: health.ServerConfig{Servers: n.ids, Timing: n.cfg.Timing, Claims: n.cfg.Claims},
		View:         agent, Broadcaster: all, Store: n.stores[id], Wall: n.wall,
		Notify: func(e health.Event) {
			n.serverTold(id, &e)
			k.host.Emit(serverEvent(&e))
		},
	})
	n.servers[id] = k.server
	return err
}

// wall is the wall clock.
func (n *Net) wall() time.Time { return time.Unix(0, epoch).Add(n.Now()) }

// dial starts a client.
func (k *stack) dial() (err error) {
	n, id := k.net, k.host.ID()
	k.client, err = health.Dial(k.lnet.Table, health.DialConfig{
		ClientConfig: health.ClientConfig{ID: ClientID(id), Servers: n.ids, Timing: n.cfg.Timing, Seed: k.host.Life().Seed},
		Attach:       n.wants(id),
		Notify: func(e health.ClientEvent) {
			n.clientTold(id, &e)
			k.host.Emit(clientEvent(&e))
		},
	})
	n.clients[id-n.firstClient()] = k.client
	return err
}

// command obeys a verb of a scenario.
func (k *stack) command(text string) {
	verb, rest, _ := strings.Cut(text, " ")
	number, _ := strconv.Atoi(rest)
	if k.server == nil {
		k.use(verb, rest)
		return
	}
	switch verb {
	case "drain":
		_ = k.server.Drain(rest == "on", true) // never refused: it is forced
	case "shed":
		k.server.Shed(number)
	case "evict":
		if number > 0 {
			k.net.truth.byHand(sim.NodeID(number - 1))
			k.server.Evict(ClientID(sim.NodeID(number-1)), func(health.EvictResult) {})
		}
	}
}

// use obeys a verb of a client.
func (k *stack) use(verb, rest string) {
	set, _ := sim.ParseNodes(rest, k.net.cfg.Servers)
	switch verb {
	case "attach", "detach":
		for id := range set.All(k.net.cfg.Servers) {
			if verb == "attach" {
				k.client.Attach(simlnd.NID(id))
			} else {
				k.client.Detach(simlnd.NID(id))
			}
		}
	case "doubt":
		for _, id := range k.client.Status().Attached {
			k.client.Doubt(id)
		}
	case "leave":
		k.net.truth.excuse(k.host.ID())
		k.client.Close()
	}
}

var _ scoll.View = (*gossip.Agent)(nil)
