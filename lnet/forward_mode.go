package lnet

import (
	"cmp"
	"slices"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/router"
)

// DefaultRouterSilence is how long a router's net may be silent until it counts as down:
// alive_router_check_interval + router_ping_timeout.
const DefaultRouterSilence = 110 * time.Second

// routing says whether a node is a router, and which of its nets are alive. The lock of the
// forwarder guards it.
type routing struct {
	power    router.Switch
	patience time.Duration // how long a net may be silent; not positive: it never counts as down
	review   machine.Alarm // calls reviewRouting when something is due

	nets map[nid.Net]*router.Silence // watch of each net; empty while this node does not forward messages
}

// StartRouting begins to forward messages between the nets of this node (lnet_rtrpools_enable). The
// node is in the mode Starting for Config.RouterSilence, or for half of that time if a message has come from every net by then.
//
//	EBUSY  messages are still leaving after StopRouting
func (n *Node) StartRouting() error { return n.startRouting(false) }

// StartAsRouter does what StartRouting does, for a node that is a router from its start: it
// tells peers at once that it routes, without the mode Starting.
func (n *Node) StartAsRouter() error { return n.startRouting(true) }

func (n *Node) startRouting(atOnce bool) error {
	f := &n.forward
	now := n.cfg.Clock.Now()
	f.mu.Lock()
	f.open()
	wait := max(f.patience, 0)
	if atOnce {
		wait = 0
	}
	before := f.power.Mode()
	err := f.power.Enable(now, wait)
	if err == nil && !before.Forwards() {
		n.endSilence() // the watch of all nets begins anew
	}
	f.on.Store(f.power.Mode().Forwards())
	f.mu.Unlock()
	n.reviewRouting()
	n.tellNIWatchers()
	return err
}

// StopRouting ends the forwarding of messages (lnet_rtrpools_disable). Messages that wait for a
// buffer are dropped, and refused is their number. Messages that have a buffer still leave, in
// the mode Stopping.
func (n *Node) StopRouting() (refused int) {
	f := &n.forward
	f.mu.Lock()
	f.open()
	f.power.Disable(f.ledger.Tickets() > 0)
	f.on.Store(f.power.Mode().Forwards())
	f.mu.Unlock()
	refused = f.refuse(n.peers.all(), func(*peerNI) bool { return true })
	n.reviewRouting()
	n.tellNIWatchers()
	return refused
}

// SetRouterSilence changes Config.RouterSilence while the node runs; 0 or less: a net never counts
// as down.
func (n *Node) SetRouterSilence(d time.Duration) {
	n.forward.mu.Lock()
	n.forward.patience = d
	changed := d <= 0 && n.endSilence()
	n.forward.mu.Unlock()
	n.reviewRouting()
	if changed {
		n.tellNIWatchers()
	}
}

// RoutingMode returns whether the node forwards messages, and whether it tells its peers that it
// does.
func (n *Node) RoutingMode() router.Mode {
	n.forward.mu.Lock()
	defer n.forward.mu.Unlock()
	return n.forward.power.Mode()
}

// open makes the ledger of buffers. The caller holds f.mu.
func (f *forwarder) open() {
	if f.ledger == nil {
		f.ledger = router.New(f.config)
		f.pool.SetLimit(f.config.WithDefaults().Memory)
	}
}

// reviewRouting updates what changes with time, and with the node's NIs: the mode, and which nets are
// alive. Peers are told of changes.
func (n *Node) reviewRouting() {
	f := &n.forward
	now := n.cfg.Clock.Now()
	f.mu.Lock()
	before := f.power.Mode()
	changed, wake := false, machine.Never
	heard := true
	var ask []nid.Net
	if before.Forwards() {
		changed, heard, ask, wake = n.reviewNets(now)
	} else {
		changed = n.endSilence()
	}
	busy := f.ledger != nil && f.ledger.Tickets() > 0
	wake = min(wake, f.power.Step(now, heard, busy))
	f.on.Store(f.power.Mode().Forwards())
	changed = changed || f.power.Mode() != before
	if !f.stopped {
		f.review.Set(now, max(wake, now+time.Millisecond))
	}
	f.mu.Unlock()
	if changed {
		n.tellNIWatchers()
	}
	for _, net := range ask {
		n.pingNet(net)
	}
}

// reviewNets finds out which nets are silent, considering all NIs of a net together. The result
// heard is true if messages came from every net, and there is a net; ask is the list of nets with nodes to
// ping. The caller holds forwarder.mu.
func (n *Node) reviewNets(now time.Duration) (changed, heard bool, ask []nid.Net, wake time.Duration) {
	f, nis := &n.forward, *n.nis.Load()
	nets := make(map[nid.Net]*router.Silence, len(nis))
	wake, heard = machine.Never, true
	for _, ni := range nis {
		net := ni.cfg.Net
		if ni.isLo() || nets[net] != nil || f.patience <= 0 {
			continue
		}
		s := cmp.Or(f.nets[net], new(router.Silence))
		nets[net] = s
		last, ok := lastHeard(nis, net)
		news, quiet, next := s.Step(now, f.patience, last, ok)
		if quiet {
			ask = append(ask, net)
		}
		changed, wake = changed || news, min(wake, next)
		heard = heard && s.Heard(last, ok)
		markSilent(nis, net, s.Down())
		if at, any := lastHeard(nis, net); s.Down() && (at != last || any != ok) {
			wake = now // the read loop of that message may not have seen that the net was silent
		}
	}
	f.nets = nets
	return changed, heard && (len(nets) > 0 || f.patience <= 0), ask, wake
}

// markSilent notes on all NIs of a net whether the net is silent.
func markSilent(nis []*NI, net nid.Net, silent bool) {
	for _, ni := range nis {
		if ni.cfg.Net == net {
			ni.silent.Store(silent)
		}
	}
}

// SetPinger installs the function that pings a node without waiting for the answer. A router calls it for
// nodes of a silent net before it reports its NI on that net as down. f is called without locks.
func (n *Node) SetPinger(f func(nid.NID)) { n.pinger.Store(&f) }

// pingsOfNet is how many nodes of a silent net are pinged; local policy.
const pingsOfNet = 3

// pingNet pings the nodes of a net that were heard last, but none beyond a gateway on that net.
func (n *Node) pingNet(net nid.Net) {
	ping := n.pinger.Load()
	if ping == nil {
		return
	}
	var list []*peerNI
	for _, p := range n.peers.all() {
		if p.ni.cfg.Net == net && !p.beyond() {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b *peerNI) int {
		return cmp.Or(cmp.Compare(b.lastHeard(), a.lastHeard()), a.nid.Compare(b.nid))
	})
	for _, p := range list[:min(pingsOfNet, len(list))] {
		(*ping)(p.nid)
	}
}

// lastHeard returns the time at which a process at the peer was last heard, or -1 if none was.
func (p *peerNI) lastHeard() time.Duration {
	last := time.Duration(-1)
	for k := p.contacts.first.Load(); k != nil; k = k.next.Load() {
		if at, ok := k.heard.load(); ok {
			last = max(last, at)
		}
	}
	return last
}

// endSilence stops watching all nets, and makes all NIs count as not silent: only a router considers NIs silent.
// The caller holds forwarder.mu.
func (n *Node) endSilence() (changed bool) {
	n.forward.nets = nil
	for _, ni := range *n.nis.Load() {
		changed = ni.silent.Swap(false) || changed
	}
	return changed
}

// lastHeard returns the time at which another node of a net was last heard; ok is false if none was.
func lastHeard(nis []*NI, net nid.Net) (at time.Duration, ok bool) {
	for _, ni := range nis {
		if ni.cfg.Net == net {
			if t, any := ni.heard.load(); any {
				at, ok = max(at, t), true
			}
		}
	}
	return at, ok
}

// heardOn notes that another node was heard by ni, while this node forwards messages.
func (ni *NI) heardOn(at time.Duration) {
	ni.heard.advance(at)
	if ni.silent.Load() {
		ni.node.reviewRouting()
	}
}
