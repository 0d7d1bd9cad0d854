package healthsim

import (
	"context"
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
	talks  *lnetsim.Stack // the stack whose other programs exchange messages with servers
}

// stackGossip is the default interval of gossip at the level of stacks.
const stackGossip = 200 * time.Millisecond

// bootStack begins an incarnation of a stack.
func (n *Net) bootStack(h, kept *simlnd.Host) (err error) {
	k := &stack{net: n, host: h}
	n.groundTruth.began(h.ID())
	if k.lnet, err = lnetsim.NewStack(h, lnetsim.StackConfig{}); err != nil {
		return err
	}
	h.OnCommand(k.command)
	if n.isServer(h.ID()) {
		return k.serve(kept != nil)
	}
	if n.groundTruth.nodes[h.ID()].talks {
		k.talk()
	}
	return k.dial(h.ID())
}

// serve starts a server's agent.
func (k *stack) serve(keeps bool) error {
	n, id, incarnation := k.net, k.host.ID(), k.host.Incarnation()
	agent, err := gossip.New(k.lnet.Table, gossip.Config{
		Participants: n.ids, Interval: n.cfg.Gossip, Seed: incarnation.Seed, ColdStart: incarnation.Number == 0,
	})
	if err != nil {
		return err
	}
	collectives, err := scoll.New(k.lnet.Table, scoll.Config{View: agent})
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
		n.stores[id].records, n.stores[id].tombstones, n.stores[id].broken = old.records, old.tombstones, old.broken
	}
	k.server, err = health.StartServer(k.lnet.Table, health.AgentConfig{
		Incarnation: epoch + uint64(n.Now()), Servers: n.ids, Timing: n.cfg.Timing, ClaimKeys: n.cfg.ClaimKeys,
		View: agent, Broadcaster: all, Store: n.stores[id], Wall: n.wall,
		Notify: func(e health.Event) {
			n.serverTold(id, &e)
			k.host.Emit(serverEvent(&e))
		},
	})
	n.servers[id] = k.server
	return err
}

// wall returns the time of the simulated wall clock.
func (n *Net) wall() time.Time { return time.Unix(0, epoch).Add(n.Now()) }

// dial starts a client with the id of the given node's client, unless this node is to have none.
func (k *stack) dial(as sim.NodeID) (err error) {
	n, id := k.net, k.host.ID()
	if n.groundTruth.nodes[id].quit {
		return nil
	}
	var self *health.Connection
	self, err = health.Dial(k.lnet.Table, health.DialConfig{
		ID: clientID(as), Incarnation: epoch + uint64(n.Now()), Servers: n.ids, Timing: n.cfg.Timing, Seed: k.host.Incarnation().Seed,
		Attach: n.wants(id),
		Notify: func(e health.ClientEvent) {
			if self != nil && self != k.client { // the client of this call has ended
				return
			}
			n.clientTold(id, &e)
			k.host.Emit(clientEvent(&e))
		},
	})
	k.client, n.clients[id-n.firstClient()] = self, self
	return err
}

// renew ends the client without a message, by ending the whole stack. The node goes on with a new
// stack.
func (k *stack) renew() {
	old := k.lnet
	k.client = nil
	_ = old.Close() // messages that have not left are lost
	var err error
	if k.lnet, err = lnetsim.NewStack(k.host, lnetsim.StackConfig{}); err != nil {
		k.net.Failed(err)
		return
	}
	k.talk()
}

// talk makes other programs of the node ping all servers once per second, if there are such
// programs.
func (k *stack) talk() {
	if k.talks != k.lnet {
		k.talks = k.lnet
		k.ping(k.lnet)
	}
}

func (k *stack) ping(on *lnetsim.Stack) {
	if k.lnet != on { // the stack of this call has ended
		return
	}
	if k.net.groundTruth.nodes[k.host.ID()].talks {
		for _, id := range k.net.ids {
			on.Ping(id)
		}
	}
	k.host.Clock().AfterFunc(busyInterval, func() { k.ping(on) })
}

// command carries out a verb of a scenario.
func (k *stack) command(text string) {
	verb, rest, _ := strings.Cut(text, " ")
	number, _ := strconv.Atoi(rest)
	if k.server == nil {
		k.use(verb, rest)
		return
	}
	switch verb {
	case "drain":
		_ = k.server.Drain(rest == "on", true) // cannot be refused, because it is forced
	case "disk":
		k.net.stores[k.host.ID()].broken = rest == "broken"
	case "shed":
		k.server.Shed(number)
	case "evict":
		if number > 0 {
			k.net.byHand(sim.NodeID(number - 1))
			k.server.Evict(clientID(sim.NodeID(number-1)), func(health.EvictResult) {})
		}
	}
}

// use carries out a verb of a client.
func (k *stack) use(verb, rest string) {
	n, id := k.net, k.host.ID()
	switch verb {
	case "traffic", "clientless":
		n.used(id, verb, rest)
		k.talk()
	case "quit":
		n.used(id, verb, rest)
		k.renew()
	case "impersonate":
		if other, ok := n.impersonated(id, rest); ok {
			k.renew()
			if err := k.dial(other); err != nil {
				n.Failed(err)
			}
		}
	default:
		if k.client != nil {
			k.connect(verb, rest)
		}
	}
}

// connect carries out a verb of a client that runs.
func (k *stack) connect(verb, rest string) {
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
		k.net.groundTruth.end(k.host.ID(), false)
		_ = k.client.Close(atOnce) // a server that does not answer is not told again
	}
}

// atOnce is a context that is done already.
var atOnce = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

var _ scoll.View = (*gossip.Agent)(nil)
