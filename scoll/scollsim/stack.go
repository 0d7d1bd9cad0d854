package scollsim

import (
	"slices"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/lnetsim"
	"ulnet/lnet/nid"
	"ulnet/scoll"
	"ulnet/scoll/wire"
)

// stack is an agent above portals and LNet on a simulated host.
type stack struct {
	net     *Net
	host    *simlnd.Host
	lnet    *lnetsim.Stack
	agent   *scoll.Agent
	view    view
	handles map[scoll.GroupID]*scoll.Group // handles of groups that this node created, or got requests of
	open    []*scoll.Request               // requests whose handles have not ended
}

// bootStack begins an incarnation of a stack.
func (n *Net) bootStack(h, _ *simlnd.Host) error {
	k := &stack{net: n, host: h, handles: make(map[scoll.GroupID]*scoll.Group)}
	var err error
	if k.lnet, err = lnetsim.NewStack(h, lnetsim.StackConfig{}); err != nil {
		return err
	}
	n.began(k, h.Incarnation())
	cfg := n.cfg.Scoll
	switch {
	case n.cfg.View != nil:
		if cfg.View, err = n.cfg.View(h, k.lnet); err != nil {
			return err
		}
	case n.oracle.on():
		k.view.nodes = n.oracle.known(h.ID())
		cfg.View = &k.view
	}
	if k.agent, err = scoll.New(k.lnet.Table, cfg); err != nil {
		return err
	}
	h.OnCommand(func(text string) {
		verb, args := scenario.ParseCommand(text)
		n.command(k, h.ID(), verb, args)
	})
	return k.agent.RegisterService(k.service())
}

// view is the state of other nodes, as far as this node has learned it.
type view struct {
	nodes []vital
	watch func(id nid.NID, alive bool, lifetime uint64)
}

// hear handles a report of the oracle.
func (v *view) hear(id nid.NID, now vital) {
	v.nodes[kit.NodeOf(id)] = now
	if v.watch != nil {
		v.watch(id, now.alive, now.lifetime)
	}
}

// Alive implements scoll.View.
func (v *view) Alive(id nid.NID) (alive bool, lifetime uint64) {
	node, ok := simlnd.Node(id)
	if !ok || int(node) >= len(v.nodes) {
		return false, 0
	}
	return v.nodes[node].alive, v.nodes[node].lifetime
}

// Watch implements scoll.View, for one watcher.
func (v *view) Watch(f func(id nid.NID, alive bool, lifetime uint64)) (stop func()) {
	v.watch = f
	for id, n := range v.nodes {
		if n.alive {
			f(simlnd.NID(sim.NodeID(id)), true, n.lifetime)
		}
	}
	return func() { v.watch = nil }
}

func (k *stack) groups() []scoll.GroupState { return k.agent.Groups() }
func (k *stack) stats() scoll.Stats         { return k.agent.Stats() }

func (k *stack) create(g *namedGroup, now bool) {
	k.agent.CreateGroup(scoll.GroupConfig{
		Service: service, Name: g.name, Members: g.members, Tree: k.net.cfg.Tree, Now: now,
		Done: func(made *scoll.Group, err error) {
			var id scoll.GroupID
			if made != nil {
				id = made.ID()
				k.handles[id] = made
			}
			g.created(id, wire.StatusOf(err))
		},
	})
}

func (k *stack) destroy(g *namedGroup) {
	if h := k.handles[g.id]; h != nil {
		g.ending = true
		h.Destroy(func(err error) { g.destroyed(wire.StatusOf(err)) })
	}
}

func (k *stack) abort() {
	for _, r := range k.open {
		r.Abort()
	}
}

// handle returns a group as this node knows it.
func (k *stack) handle(g *namedGroup) (*scoll.Group, error) {
	switch {
	case g.oob:
		return k.agent.OOBGroup(service, g.name, scoll.OOBID{High: g.id.Incarnation, Low: g.id.Index}, k.net.cfg.Tree, nil)
	case k.handles[g.id] == nil:
		return nil, scoll.ENOGROUP
	}
	return k.handles[g.id], nil
}

func (k *stack) send(g *namedGroup, b *Broadcast) scoll.Status {
	h, err := k.handle(g)
	if err == nil {
		err = k.request(h, b)
	}
	return wire.StatusOf(err)
}

// request creates a request, and sends it.
func (k *stack) request(g *scoll.Group, b *Broadcast) error {
	o := &b.order
	cfg := scoll.RequestConfig{
		Payload: payloadOf(b.Number, o.payload), Last: modeFlags[o.mode]&wire.FlagLast != 0, Live: o.isLive(),
		Processing: o.processing, Carry: k.net.cfg.Carry, Private: b,
	}
	if o.bulk > 0 {
		cfg.Bulk = [][]byte{pattern(b.Number, o.bulk)}
	}
	if size := int(k.net.cfg.Segment); size > 0 {
		g.SetSegment(size)
	}
	r, err := g.NewRequest(cfg)
	if err != nil {
		return err
	}
	r.Data = &work{number: b.Number, root: true}
	k.roster(b)
	if err := k.post(r); err != nil {
		return err
	}
	k.open = append(k.open, r)
	return r.Send()
}

// roster records the members of a broadcast: all of the group or, in the view of this node,
// the live ones.
func (k *stack) roster(b *Broadcast) {
	members := nodesOf(b.whole)
	if b.order.isLive() && k.net.oracle.on() {
		members = slices.DeleteFunc(members, func(id sim.NodeID) bool { return id != b.Root && !k.view.nodes[id].alive })
	}
	k.net.sent(b, members)
}

// pattern returns the bulk data of a broadcast.
func pattern(number uint32, size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(i>>8) ^ byte(i) + byte(number)
	}
	return b
}
