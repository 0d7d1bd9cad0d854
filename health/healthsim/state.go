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
func (n *network) runs(id sim.NodeID) bool { return n.Up(id) && !n.Paused(id) }

// running yields those servers of a set that are up and not paused.
func (n *network) running(set sim.NodeSet) iter.Seq2[sim.NodeID, watcher] {
	return func(yield func(sim.NodeID, watcher) bool) {
		for id := range set.All(n.cfg.servers) {
			if n.runs(id) && !yield(id, n.servers[id]) {
				return
			}
		}
	}
}

// present reports whether the client on a node has not ended. Other programs of the node may go on
// without it.
func (n *network) present(id sim.NodeID) bool { return n.Up(id) && !n.groundTruth.nodes[id].over }

// each yields the clients in a set of nodes.
func (n *network) each(set sim.NodeSet) iter.Seq[sim.NodeID] {
	return func(yield func(sim.NodeID) bool) {
		for id := range set.All(n.Nodes()) {
			if !n.isServer(id) && !yield(id) {
				return
			}
		}
	}
}

// active yields those clients in a set of nodes whose nodes are up and not paused.
func (n *network) active(set sim.NodeSet) iter.Seq[sim.NodeID] {
	return func(yield func(sim.NodeID) bool) {
		for id := range n.each(set) {
			if n.runs(id) && n.present(id) && !yield(id) {
				return
			}
		}
	}
}

// settled describes what is wrong with the clients that have the id of a node's client; "" if
// nothing is (CH-33). A client that runs must have a master that runs, and all servers that it
// is connected to, or that have a connection of it, must agree on its incarnation, its master
// and its epoch. No server may have a client that has ended. Of several clients with one id,
// exactly one must be connected.
func (n *network) settled(id sim.NodeID) (why string) {
	nodes := n.claimants(id)
	if len(nodes) == 0 {
		if where := n.knownTo(sim.AllNodes, id); where != "" {
			return fmt.Sprintf("client %v is gone, and %s", id, where)
		}
		return ""
	}
	well := 0
	for _, k := range nodes {
		st := n.client(k).Status()
		switch {
		case n.rests(k):
		case len(nodes) > 1 && st.State != "settled": // only one of several clients with one id can be connected; servers refuse the others as long as it runs
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

// knownTo describes a connection of the client at a running server of the set; "" if no such
// server has one.
func (n *network) knownTo(servers sim.NodeSet, id sim.NodeID) string {
	for s, w := range n.running(servers) {
		if info, known := w.Client(clientID(id)); known {
			return fmt.Sprintf("%s at server %v", info.State, s)
		}
	}
	return ""
}

// connected describes what is wrong with the client on a node that is up; "" if nothing is. The
// argument id is the node from which the client's id comes.
func (n *network) connected(node, id sim.NodeID) string {
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
				node, s, attached, master, st.Epoch, info.State, word(info.Master), info.Epoch)
		}
	}
	return ""
}

// word formats a server's NID for people to read.
func word(id nid.NID) string {
	if !id.IsValid() {
		return "nobody"
	}
	return nodeOfNID(id).String()
}

// load returns the smallest and the largest number of clients that a server is the master of,
// among servers that run and do not drain.
func (n *network) load() (least, most int) {
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
