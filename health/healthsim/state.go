package healthsim

import (
	"fmt"
	"iter"
	"slices"

	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
)

// runs reports whether a node is up and not paused.
func (n *Net) runs(id sim.NodeID) bool { return n.Up(id) && !n.Paused(id) }

// running yields the servers of a set that run.
func (n *Net) running(set sim.NodeSet) iter.Seq2[sim.NodeID, watcher] {
	return func(yield func(sim.NodeID, watcher) bool) {
		for id := range set.All(n.cfg.Servers) {
			if n.runs(id) && !yield(id, n.servers[id]) {
				return
			}
		}
	}
}

// present reports whether the client on a node has not ended. Other programs of the node may go on
// without it.
func (n *Net) present(id sim.NodeID) bool { return n.Up(id) && !n.groundTruth.nodes[id].over }

// each yields the clients in a set of nodes.
func (n *Net) each(set sim.NodeSet) iter.Seq[sim.NodeID] {
	return func(yield func(sim.NodeID) bool) {
		for id := range set.All(n.Nodes()) {
			if !n.isServer(id) && !yield(id) {
				return
			}
		}
	}
}

// Settled reports whether the state of some clients is in order (CH-33): a client that runs has a
// master that runs, and all servers that it is connected to, or that know it, agree on its
// incarnation, its master and its epoch. No server knows a client that has ended. Of several
// clients with one id exactly one is connected.
func (n *Net) Settled(set sim.NodeSet) (ok bool, why string) {
	for id := range n.each(set) {
		if why := n.settled(id); why != "" {
			return false, why
		}
	}
	return true, ""
}

// settled describes what is wrong with the clients that have the id of a node's client.
func (n *Net) settled(id sim.NodeID) (why string) {
	nodes := n.claimants(id)
	if len(nodes) == 0 {
		return n.gone(id)
	}
	well := 0
	for _, k := range nodes {
		st := n.client(k).Status()
		switch {
		case n.rests(k):
		case len(nodes) > 1 && st.State != "settled": // the client is refused while the other one with its id is there
		default:
			well++
			if w := n.connected(k, id); w != "" {
				why = w
			}
		}
	}
	if why == "" && well != 1 && (well > 1 || !n.rests(nodes[0])) {
		why = fmt.Sprintf("of %d clients with the id of client %v %d are connected", len(nodes), id, well)
	}
	return why
}

// gone describes what is left of a client that has ended.
func (n *Net) gone(id sim.NodeID) string {
	for s, w := range n.running(sim.AllNodes) {
		if info, ok := w.Client(clientID(id)); ok {
			return fmt.Sprintf("client %v is gone, and %s at server %v", id, info.State, s)
		}
	}
	return ""
}

// connected describes what is wrong with the client on a node that is up, which has the given id.
func (n *Net) connected(node, id sim.NodeID) string {
	st := n.client(node).Status()
	master := nodeOfNID(st.Master)
	switch {
	case n.Paused(node):
		return fmt.Sprintf("client %v is paused", node)
	case st.State != "settled":
		return fmt.Sprintf("client %v is %s", node, st.State)
	case !n.runs(master):
		return fmt.Sprintf("the master of client %v is server %v, which does not run", node, master)
	}
	for s, w := range n.running(sim.AllNodes) {
		info, ok := w.Client(clientID(id))
		attached := slices.Contains(st.Attached, simlnd.NID(s))
		switch {
		case !ok && !attached:
		case ok != attached, info.State != "connected", info.Incarnation != st.Incarnation, info.Master != st.Master, info.Epoch != st.Epoch:
			return fmt.Sprintf("client %v is connected to server %v: %v, with master %v, epoch %d; there it is %q under %v, epoch %d",
				node, s, attached, master, st.Epoch, info.State, n.word(info.Master), info.Epoch)
		}
	}
	return ""
}

// word formats a server's NID for people to read.
func (n *Net) word(id nid.NID) string {
	if !id.IsValid() {
		return "nobody"
	}
	return nodeOfNID(id).String()
}

// Attached reports whether each client that runs is connected to all of the given servers that run.
func (n *Net) Attached(set, servers sim.NodeSet) (ok bool, why string) {
	for id := range n.each(set) {
		if !n.runs(id) || !n.present(id) {
			continue
		}
		st := n.client(id).Status()
		for s := range n.running(servers) {
			if !slices.Contains(st.Attached, simlnd.NID(s)) {
				return false, fmt.Sprintf("client %v is not connected to server %v", id, s)
			}
		}
	}
	return true, ""
}

// MasterIn reports whether each client that runs has a master among some servers.
func (n *Net) MasterIn(servers, set sim.NodeSet) (ok bool, why string) {
	for id := range n.each(set) {
		if !n.runs(id) || !n.present(id) { // a node that has not started has no client
			continue
		}
		if st := n.client(id).Status(); st.State != "settled" || !servers.Has(nodeOfNID(st.Master)) {
			return false, fmt.Sprintf("client %v is %s, its master %s", id, st.State, n.word(st.Master))
		}
	}
	return true, ""
}

// forgotten reports whether no server of a set that runs knows any of some clients.
func (n *Net) forgotten(set, by sim.NodeSet) (ok bool, why string) {
	for id := range n.each(set) {
		for s, w := range n.running(by) {
			if info, known := w.Client(clientID(id)); known {
				return false, fmt.Sprintf("client %v is %s at server %v", id, info.State, s)
			}
		}
	}
	return true, ""
}

// evictedTimes reports whether each client of a set was told the given number of times that all
// servers had evicted it.
func (n *Net) evictedTimes(set sim.NodeSet, want int) (ok bool, why string) {
	for id := range n.each(set) {
		if got := n.ledger.of(id).evicted; got != want {
			return false, fmt.Sprintf("client %v was evicted %d times", id, got)
		}
	}
	return true, ""
}

// Quorum reports whether each server of a set that runs has a quorum, or has none.
func (n *Net) Quorum(set sim.NodeSet, want bool) (ok bool, why string) {
	for id, w := range n.running(set) {
		if w.Status().Quorum != want {
			return false, fmt.Sprintf("server %v has a quorum: %v", id, !want)
		}
	}
	return true, ""
}

// Load returns the least and the largest number of clients of a master, over the servers that run
// and do not drain.
func (n *Net) Load() (least, most int) {
	least = -1
	for _, w := range n.running(sim.AllNodes) {
		st := w.Status()
		if st.Draining {
			continue
		}
		if most = max(most, st.Mastered); least < 0 || st.Mastered < least {
			least = st.Mastered
		}
	}
	return max(least, 0), most
}
