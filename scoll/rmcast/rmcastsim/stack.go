package rmcastsim

import (
	"context"
	"errors"
	"time"

	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/lnetsim"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast"
	"ulnet/scoll/rmcast/engine"
)

// stack is an agent above portals and LNet on a simulated host.
type stack struct {
	net    *Net
	host   *simlnd.Host
	lnet   *lnetsim.Stack
	agent  *rmcast.Agent
	group  *rmcast.Group // nil before the first join
	begins bool          // the field group is being replaced
	faults engine.Faults
	watch  func(id nid.NID, alive bool, lifetime uint64)
	outbox []*Message // messages that the agent has not accepted
}

// bootStack begins an incarnation of a stack.
func (n *Net) bootStack(h, _ *simlnd.Host) (err error) {
	k := &stack{net: n, host: h, faults: engine.Faults{Datagrams: n.cfg.Loss}}
	if k.lnet, err = lnetsim.NewStack(h, lnetsim.StackConfig{}); err != nil {
		return err
	}
	id := h.ID()
	n.began(k, h.Incarnation(), h.LNetIncarnation())
	var view rmcast.View = k
	if n.cfg.Gossip {
		view = gossipView{k}
	}
	if k.agent, err = rmcast.New(k.lnet.Table, rmcast.Config{View: view, Fragment: n.cfg.Manager.Fragment}); err != nil {
		return err
	}
	if int(id) < n.cfg.Managers {
		cfg := n.cfg.Manager
		cfg.Group, cfg.Managers = group, n.managers
		if err := k.agent.Manage(cfg); err != nil {
			return err
		}
	}
	h.OnCommand(k.command)
	if n.nodes[id].wants {
		return k.join()
	}
	return nil
}

// Watch implements rmcast.View, for one watcher.
func (k *stack) Watch(f func(id nid.NID, alive bool, lifetime uint64)) (stop func()) {
	k.watch = f
	return func() { k.watch = nil }
}

// gossipView is the view of a stack with gossip.
type gossipView struct{ *stack }

// Ended implements rmcast.Certain.
func (v gossipView) Ended(id nid.NID, _ time.Duration) bool {
	return v.net.gossip.sights[v.host.ID()][kit.NodeOf(id)].certain
}

// hear handles a report of the oracle.
func (k *stack) hear(id nid.NID, alive bool) {
	if k.watch != nil {
		k.watch(id, alive, 0)
	}
}

// join joins the group.
func (k *stack) join() error {
	n := k.net
	cfg := n.cfg.Rmcast
	cfg.Group, cfg.Managers, cfg.Seed, cfg.Faults = group, n.managers, k.host.Incarnation().Seed, k.faults
	k.begins = true
	cfg.NoMulticast, cfg.OnChange = n.cfg.NoMulticast, k.changed
	cfg.Handle = func(m *rmcast.Message) { n.ledger.delivered(k.host.ID(), m.Origin, m.Seq, m.Data) }
	g, err := k.agent.Join(cfg)
	k.begins = false
	if err != nil {
		return err
	}
	k.group = g
	k.note()
	return nil
}

// changed is the OnChange function of the member.
func (k *stack) changed(_ rmcast.Version, err error) {
	if k.begins {
		return
	}
	if err != nil {
		k.net.ledger.healed(k.host.ID(), k.group.Stats().Healed)
	}
	left := errors.Is(err, engine.ErrLeft)
	if left {
		k.net.stopped(k.host.ID())
	}
	if k.note(); left {
		k.host.Clock().AfterFunc(1, k.left)
	}
}

// note records the node's present incarnation, and the newest list of members that it has.
func (k *stack) note() {
	s := k.group.Status()
	k.net.nodes[k.host.ID()].incarnation = s.Self.Incarnation
	k.net.ledger.list(s.Version, s.Members)
}

// left completes leaving. The node joins again if it was told to do so meanwhile.
func (k *stack) left() {
	k.net.left(k.host.ID(), k.host.Clock().Now(), k.group.Leave(context.Background())) // does not block, because the member has left
	if k.group = nil; k.net.nodes[k.host.ID()].wants {
		k.rejoin()
	}
}

// rejoin joins the group, unless the node is a member.
func (k *stack) rejoin() {
	if err := k.join(); err != nil && !errors.Is(err, rmcast.ErrTaken) {
		k.net.Failed(err)
	}
}

// command handles a verb of a scenario.
func (k *stack) command(text string) {
	n, id := k.net, k.host.ID()
	verb, args := scenario.ParseCommand(text)
	switch verb {
	case "send":
		waits := len(k.outbox) > 0
		k.outbox = append(k.outbox, n.ledger.begin(id, args)...)
		if !waits {
			k.offer()
		}
	case "join":
		n.nodes[id].wants = true
		k.rejoin()
	case "leave":
		n.leaves(id, k.host.Clock().Now())
		if k.group != nil {
			k.group.BeginLeave()
		}
	case "faults":
		k.faults = faults(args)
		if k.group != nil {
			k.group.SetFaults(k.faults)
		}
	}
}

// retry is the time after which a message is offered again when the window was full.
const retry = time.Millisecond

// offer gives the agent messages until the window is full.
func (k *stack) offer() {
	n := k.net
	for len(k.outbox) > 0 {
		m, full := k.outbox[0], false
		if k.group == nil {
			n.ledger.ended(m, engine.ErrNotMember)
		} else {
			n.ledger.accepted(m, 0) // before Post, because Post may deliver the message at once
			k.group.Post(m.payload(), func(r rmcast.Result, err error) {
				full = errors.Is(err, rmcast.ErrFull)
				k.over(m, r, err)
			})
		}
		if full {
			k.host.Clock().AfterFunc(retry, k.offer)
			return
		}
		k.outbox = k.outbox[1:]
	}
}

// over records the outcome of a message.
func (k *stack) over(m *Message, r rmcast.Result, err error) {
	switch {
	case errors.Is(err, rmcast.ErrFull):
		m.Outcome = Waiting
	case err == nil, errors.Is(err, engine.ErrSplit):
		k.net.ledger.released(m, r, err)
	default:
		if r.Seq == 0 { // the agent has not accepted the message
			m.Outcome = Waiting
		}
		k.net.ledger.ended(m, err)
	}
}

func (k *stack) status() (s engine.Status, ok bool) {
	if k.group == nil {
		return s, false
	}
	return k.group.Status(), true
}

func (k *stack) managing() (engine.Managing, bool) { return k.agent.Managed(group) }

func (k *stack) stats() (s engine.Stats) {
	if k.group != nil {
		s = k.group.Stats()
	}
	return s
}
