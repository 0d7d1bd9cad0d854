package scollsim

import (
	"errors"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/lnetsim"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// stack is an agent above portals and LNet on a simulated host.
type stack struct {
	net     *Net
	host    *simlnd.Host
	lnet    *lnetsim.Stack
	agent   *scoll.Agent
	view    view
	handles map[scoll.GroupID]*scoll.Group // of groups that this node made, or got requests of
	open    []*scoll.Request               // that the service has not seen the end of
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
		k.view.begin(&n.oracle)
		cfg.View = &k.view
	}
	if k.agent, err = scoll.New(k.lnet.Table, cfg); err != nil {
		return err
	}
	h.OnCommand(func(text string) { k.command(scenario.ParseCommand(text)) })
	return k.agent.RegisterService(k.service())
}

// view is what a node has heard of others.
type view struct {
	nodes []vital
	watch func(id nid.NID, alive bool, lifetime uint64)
}

func (v *view) begin(o *oracle) { v.nodes = append(v.nodes, o.nodes...) }

// hear takes news.
func (v *view) hear(id nid.NID, now vital) {
	v.nodes[nodeOf(id)] = now
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

// command obeys a verb of a scenario.
func (k *stack) command(verb string, args scenario.Args) {
	n := k.net
	switch verb {
	case "create":
		k.create(args)
	case "broadcast":
		k.broadcast(args)
	case "destroy":
		g := n.groups.byName[args.Word(0)]
		if g == nil || !g.made || k.handles[g.id] == nil {
			return
		}
		g.ending = true
		k.handles[g.id].Destroy(func(err error) { g.created(g.id, statusOf(err)) })
	case "abort":
		for _, r := range k.open {
			r.Abort()
		}
	case "service":
		n.behave(k.host.ID(), args)
	}
}

// create makes a group, see program.create.
func (k *stack) create(args scenario.Args) {
	n := k.net
	g, err := n.groups.add(k.host.ID(), args)
	if err != nil {
		n.Failed(err)
		return
	}
	if g.oob {
		return
	}
	k.agent.CreateGroup(scoll.GroupConfig{
		Service: service, Name: g.name, Members: g.members, Tree: n.cfg.Tree, Now: args.Word(1) == kindImmediate,
		Done: func(made *scoll.Group, err error) {
			var id scoll.GroupID
			if made != nil {
				id = made.ID()
				k.handles[id] = made
			}
			g.created(id, statusOf(err))
		},
	})
}

// handle returns the group of a name as this node knows it.
func (k *stack) handle(name string) (*scoll.Group, error) {
	g := k.net.groups.byName[name]
	switch {
	case g == nil || !g.made:
		return nil, scoll.ENOGROUP
	case g.oob:
		return k.agent.OOBGroup(service, name, scoll.OOBID{High: g.id.Incarnation, Low: g.id.Index}, k.net.cfg.Tree, nil)
	case k.handles[g.id] == nil:
		return nil, scoll.ENOGROUP
	}
	return k.handles[g.id], nil
}

// broadcast sends a request.
func (k *stack) broadcast(args scenario.Args) {
	n, o := k.net, readOrder(args)
	b := n.ledger.begin(k.host.ID(), args.Word(0))
	g, err := k.handle(b.Group)
	if err == nil {
		err = k.send(g, b, &o)
	}
	if err != nil && b.Outcome == UnderWay {
		b.notSent(statusOf(err))
	}
}

func (k *stack) send(g *scoll.Group, b *Broadcast, o *order) error {
	cfg := scoll.RequestConfig{
		Payload: payloadOf(b.Number, o.payload), Last: o.mode == modeLast, Live: o.mode == modeLive,
		Processing: o.processing, Carry: k.net.cfg.Carry, Private: &sending{b, *o},
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
	k.roster(b, o)
	if err := k.post(r); err != nil {
		return err
	}
	k.open = append(k.open, r)
	return r.Send()
}

// roster notes who the members of a broadcast are: all of the group or, as
// this node sees them, the live ones.
func (k *stack) roster(b *Broadcast, o *order) {
	members := k.net.groups.byName[b.Group].members
	var list []sim.NodeID
	root := 0
	for _, id := range nodesOf(members) {
		alive := true
		if o.mode == modeLive && k.net.oracle.on() && id != b.Root {
			alive, _ = k.view.Alive(simlnd.NID(id))
		}
		if id == b.Root {
			root = len(list)
		}
		if alive {
			list = append(list, id)
		}
	}
	b.sent(list, k.net.limit(len(list), root, o))
}

// pattern is the bulk data of a broadcast.
func pattern(number uint32, size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(i>>8) ^ byte(i) + byte(number)
	}
	return b
}

// statusOf is the status in an error.
func statusOf(err error) scoll.Status {
	var s scoll.Status
	switch {
	case err == nil:
		return scoll.OK
	case errors.As(err, &s):
		return s
	}
	return scoll.EIO
}

// after calls f when a service has worked for so long.
func (k *stack) after(d time.Duration, f func()) { k.host.Clock().AfterFunc(max(d, 1), f) }
