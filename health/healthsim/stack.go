package healthsim

import (
	"context"
	"time"

	"ulnet/gossip"
	"ulnet/health"
	"ulnet/health/collective"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/lnetsim"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// stack is a node above portals and LNet on a simulated host: a server with
// gossip, collectives and health, or a client.
type stack struct {
	net    *network
	host   *simlnd.Host
	lnet   *lnetsim.Stack
	server *health.ServerAgent
	client *health.Connection
	talks  *lnetsim.Stack // the stack on which the pings of method talk have begun; nil: they have not begun
}

// bootStack begins an incarnation of a stack.
func (n *network) bootStack(h, kept *simlnd.Host) (err error) {
	k := &stack{net: n, host: h}
	n.groundTruth.began(h.ID())
	if k.lnet, err = lnetsim.NewStack(h, lnetsim.StackConfig{}); err != nil {
		return err
	}
	if n.isServer(h.ID()) {
		h.OnCommand(func(text string) {
			verb, args := scenario.ParseCommand(text)
			n.order(h.ID(), k, verb, args)
		})
		return k.serve(kept != nil)
	}
	h.OnCommand(func(text string) { n.use(h.ID(), k, text) })
	if n.groundTruth.nodes[h.ID()].talks {
		k.talk()
	}
	return k.dial(h.ID())
}

// serve starts a server's agent.
func (k *stack) serve(keeps bool) error {
	n, id, incarnation := k.net, k.host.ID(), k.host.Incarnation()
	agent, err := gossip.New(k.lnet.Table, gossip.Config{
		Participants: n.ids, Interval: n.cfg.gossip, Seed: incarnation.Seed, ColdStart: incarnation.Number == 0,
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
	k.server, err = health.StartServer(k.lnet.Table, health.AgentConfig{
		Incarnation: epoch + uint64(n.Now()), Servers: n.ids, Timing: n.cfg.timing, ClaimKeys: n.cfg.claimKeys,
		View: agent, Broadcaster: all, Store: &store{disk: n.disk(int(id), keeps), host: k.host, each: n.cfg.store},
		Wall: func() time.Time { return wall(n.Now()) },
		Notify: func(e health.Event) {
			n.serverTold(id, &e)
			k.host.Emit(serverEvent(&e))
		},
	})
	n.servers[id] = k.server
	return err
}

// dial starts a client on this node, unless no client is to run here. The client has the id of
// another node's client, or of its own: the parameter as says which node.
func (k *stack) dial(as sim.NodeID) (err error) {
	n, id := k.net, k.host.ID()
	if n.groundTruth.nodes[id].quit {
		return nil
	}
	var self *health.Connection
	self, err = health.Dial(k.lnet.Table, health.DialConfig{
		ID: clientID(as), Incarnation: epoch + uint64(n.Now()), Servers: n.ids, Timing: n.cfg.timing, Seed: k.host.Incarnation().Seed,
		Attach: n.wants(id),
		Notify: func(e health.ClientEvent) {
			if self != nil && self != k.client { // an event of an earlier client, which has ended, is ignored
				return
			}
			n.clientTold(id, &e)
			k.host.Emit(clientEvent(&e))
		},
	})
	k.client, n.clients[id-n.firstClient()] = self, self
	return err
}

// quit ends the client without a message, by ending the node's whole stack. The node goes on
// with a new one.
func (k *stack) quit() {
	old := k.lnet
	k.client = nil
	_ = old.Close() // messages that have not been sent yet are lost
	var err error
	if k.lnet, err = lnetsim.NewStack(k.host, lnetsim.StackConfig{}); err != nil {
		k.net.Failed(err)
		return
	}
	k.talk()
}

func (k *stack) become(as sim.NodeID) {
	k.quit()
	if err := k.dial(as); err != nil {
		k.net.Failed(err)
	}
}

// talk makes other programs of the node ping all servers once per second, if the scenario has
// such programs there.
func (k *stack) talk() {
	if k.talks != k.lnet {
		k.talks = k.lnet
		k.ping(k.lnet)
	}
}

func (k *stack) ping(on *lnetsim.Stack) {
	if k.lnet != on { // the stack that the timer was started for has ended, so its pings end, too
		return
	}
	if k.net.groundTruth.nodes[k.host.ID()].talks {
		for _, id := range k.net.ids {
			on.Ping(id)
		}
	}
	k.host.Clock().AfterFunc(busyInterval, func() { k.ping(on) })
}

func (k *stack) drain(on bool) { _ = k.server.Drain(on, true) } // no error, because force is set

func (k *stack) shed(count int) { k.server.Shed(count) }

func (k *stack) evict(client health.ClientID) { k.server.Evict(client, func(health.EvictResult) {}) }

func (k *stack) attach(server nid.NID, on bool) {
	if on {
		k.client.Attach(server)
	} else {
		k.client.Detach(server)
	}
}

func (k *stack) doubt(server nid.NID) { k.client.Doubt(server) }

// leave makes the client leave its servers. It tells each server once, and does not repeat the message to
// servers that do not answer, because the context that it gives to Close has ended.
func (k *stack) leave() { _ = k.client.Close(atOnce) }

func (k *stack) busy(bool) {} // only bare machines can be busy

// atOnce is a context that has ended already.
var atOnce = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

var _ scoll.View = (*gossip.Agent)(nil)
