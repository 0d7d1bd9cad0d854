package gossipsim

import (
	"context"
	"strings"
	"time"

	"ulnet/gossip"
	"ulnet/gossip/engine"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/history"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/lnetsim"
	"ulnet/lnet/nid"
)

// stack is an agent above portals and LNet on a simulated host.
type stack struct {
	net         *Net
	host        *simlnd.Host
	lnet        *lnetsim.Stack
	agent       *gossip.Agent
	list        *engine.List
	alive       []byte // bitmap of live participants, as reported to the agent's watcher
	incarnation sim.Incarnation

	staged *engine.List

	latest   gossip.Status // status of the agent at the time in the field taken
	taken    time.Duration
	hasTaken bool
}

// bootStack begins an incarnation of a stack.
func (n *Net) bootStack(h, _ *simlnd.Host) (err error) {
	k := &stack{net: n, host: h, incarnation: h.Incarnation()}
	list, err := n.lists.start(h.ID())
	if err != nil {
		return err
	}
	if k.lnet, err = lnetsim.NewStack(h, lnetsim.StackConfig{}); err != nil {
		return err
	}
	n.began(h.ID(), k, k.incarnation, !n.cold(k.incarnation))
	h.OnCommand(k.command)
	return k.begin(list, n.cfg.Gossip)
}

// begin starts the agent.
func (k *stack) begin(list *engine.List, cfg gossip.Config) (err error) {
	cfg.Seed, cfg.ColdStart = k.incarnation.Seed, k.net.cold(k.incarnation)
	k.list, k.alive, k.hasTaken = list, make([]byte, (list.Len()+7)/8), false
	cfg.Participants, cfg.Notify = list.NIDs(), k.notify
	if k.agent, err = gossip.New(k.lnet.Table, cfg); err == nil {
		k.agent.Watch(k.changed)
	}
	return err
}

// notify is called by the agent for each event. It reports the end of the silence after the start, which may come early.
func (k *stack) notify(e gossip.Event) {
	if e.Kind == gossip.SpeaksUp {
		k.host.Emit(sim.Event{Kind: uint16(speaksUp), Subject: history.NoNode})
	}
}

// changed is called by the agent for each change.
func (k *stack) changed(id nid.NID, alive bool, aliveness uint64) {
	i := k.list.Index(id)
	who, ok := simlnd.Node(id)
	if i < 0 || !ok || who == k.host.ID() {
		if i >= 0 && alive {
			k.alive[i/8] |= 1 << (i % 8)
		}
		return
	}
	was := k.alive[i/8]>>(i%8)&1 != 0
	kind := history.Death
	switch {
	case alive:
		kind = history.Join
		k.alive[i/8] |= 1 << (i % 8)
	case k.status().Stopped:
		kind = history.Leave
		fallthrough
	default:
		k.alive[i/8] &^= 1 << (i % 8)
	}
	if was != alive { // otherwise the participant died and came back, or came back and died, since the last call
		k.host.Emit(sim.Event{Kind: uint16(kind), Subject: who, Value: aliveness})
	}
}

// command executes a verb of a scenario, see program.command.
func (k *stack) command(text string) {
	verb, arg, _ := strings.Cut(text, " ")
	k.hasTaken = false
	switch verb {
	case "stage":
		if list, err := k.net.lists.parse(arg); err == nil && k.agent.Stage(list.NIDs()) == nil {
			k.staged = list
		}
	case "commit":
		if k.agent.CommitAnyway() == nil {
			k.committed()
		}
	case "cancel":
		_ = k.agent.Cancel() // the only possible error, that no list is staged, does not matter
	case "misconfigure":
		k.misconfigure(arg)
	}
}

// committed records that the agent uses the list that was staged.
func (k *stack) committed() {
	k.list, k.staged = k.staged, nil
	k.alive = make([]byte, (k.list.Len()+7)/8)
	for i := range k.list.Len() {
		if alive, _ := k.agent.Alive(k.list.NID(i)); alive {
			k.alive[i/8] |= 1 << (i % 8)
		}
	}
}

// misconfigure restarts the agent with a parameter that others do not have.
func (k *stack) misconfigure(what string) {
	cfg, list, err := k.net.misconfigured(what, k.list)
	if err != nil {
		return
	}
	_ = k.agent.Close(context.Background()) // no function is being called, so this does not wait
	k.incarnation.Number = 0
	if err := k.begin(list, cfg); err != nil {
		k.net.Failed(err)
	}
}

func (k *stack) view() view          { return view{k.list, k.alive} }
func (k *stack) stopped() bool       { return k.status().Stopped }
func (k *stack) silent() bool        { return k.status().Silent }
func (k *stack) unsure() bool        { return k.agent.Unsure() && !k.status().Silent } // of silent nodes, no more patience is needed
func (k *stack) quorum() bool        { return k.agent.Quorum() }
func (k *stack) clock() uint64       { return k.status().Clock }
func (k *stack) stats() engine.Stats { return k.status().Stats }

// status returns the agent's state, cached for the current instant.
func (k *stack) status() *gossip.Status {
	if now := k.net.Now(); !k.hasTaken || now != k.taken {
		k.latest, k.taken, k.hasTaken = k.agent.Status(), now, true
	}
	return &k.latest
}
