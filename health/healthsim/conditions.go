package healthsim

import (
	"fmt"
	"slices"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/lnd/simlnd"
)

var (
	serversArg = scenario.Arg{Name: "servers", Kind: scenario.NodeSet}
	clientsArg = scenario.Arg{Name: "clients", Kind: scenario.NodeSet}
	timesArg   = scenario.Arg{Name: "times", Kind: scenario.Count}
)

func optional(a scenario.Arg) scenario.Arg {
	a.Optional = true
	return a
}

var conditions = kit.Conditions[*network]{
	kit.Ask("settled", "each client that is up has a master that runs, and all servers that are connected to it agree on its incarnation, master and epoch; of those that are down no server knows anything",
		func(n *network, a scenario.Args) (bool, string) { return kit.All(n.each(a.Among(0)), n.settled) }, optional(clientsArg)),
	kit.Ask("attached", "each client that runs is connected to all of these servers that run",
		(*network).attached, optional(serversArg), optional(clientsArg)),
	kit.Ask("master-in", "each client that runs has one of these servers as its master",
		(*network).masterIn, serversArg, optional(clientsArg)),
	kit.Ask("forgotten", "no server that runs, or none of these, knows any of the clients",
		(*network).forgotten, clientsArg, optional(serversArg)),
	kit.Ask("evicted", "each of the clients was told so often that all servers had evicted it",
		(*network).evicted, clientsArg, timesArg),
	kit.Ask("quorum", "each server that runs has a quorum",
		func(n *network, a scenario.Args) (bool, string) { return n.quorum(a.Among(0), true) }, optional(serversArg)),
	kit.Ask("no-quorum", "no server that runs has a quorum",
		func(n *network, a scenario.Args) (bool, string) { return n.quorum(a.Among(0), false) }, optional(serversArg)),
	kit.Ask("no-false-eviction", "no client was told that all have evicted it, or that it runs elsewhere, and of none do most servers have the tombstone, which had run, reached most servers, and lost no more than one message in twenty before",
		(*network).noFalseEviction),
	kit.Ask("no-false-loss", "no server ended a connection as cut off although most servers could reach it, or because of a client that left although that had not; and no client lost a server that had not ended the connection, while it could reach it",
		func(n *network, _ scenario.Args) (bool, string) { return n.losses.count == 0, n.losses.first }),
	kit.Ask("uniform", "no server took an incarnation whose tombstones most have; when nothing has been done to servers and links for T_q + T_orphan, none holds an incarnation of which it or another one has a tombstone, or goes on evicting it; and none a client that is gone, for longer than it takes to evict it",
		func(n *network, _ scenario.Args) (bool, string) { return n.uniform(false) }),
	kit.Ask("uniform-most", "the same, but for tombstones that no more than half of the servers have",
		func(n *network, _ scenario.Args) (bool, string) { return n.uniform(true) }),
}

// Check implements [scenario.Instance].
func (n *network) Check(condition string, args scenario.Args) (bool, string) {
	return conditions.Check(n, condition, args)
}

func (n *network) attached(a scenario.Args) (ok bool, why string) {
	servers := a.Among(0)
	return kit.All(n.active(a.Among(1)), func(id sim.NodeID) string {
		to := n.client(id).Status().Attached
		for s := range n.running(servers) {
			if !slices.Contains(to, simlnd.NID(s)) {
				return fmt.Sprintf("client %v is not connected to server %v", id, s)
			}
		}
		return ""
	})
}

func (n *network) masterIn(a scenario.Args) (ok bool, why string) {
	servers := a.Among(0)
	return kit.All(n.active(a.Among(1)), func(id sim.NodeID) string {
		if st := n.client(id).Status(); st.State != "settled" || !servers.Has(nodeOfNID(st.Master)) {
			return fmt.Sprintf("client %v is %s, its master %s", id, st.State, word(st.Master))
		}
		return ""
	})
}

func (n *network) forgotten(a scenario.Args) (ok bool, why string) {
	servers := a.Among(1)
	return kit.All(n.each(a.Among(0)), func(id sim.NodeID) string {
		if where := n.knownTo(servers, id); where != "" {
			return fmt.Sprintf("client %v is %s", id, where)
		}
		return ""
	})
}

func (n *network) evicted(a scenario.Args) (ok bool, why string) {
	return kit.All(n.each(a.Among(0)), func(id sim.NodeID) string {
		if got := n.ledger.of(id).evicted; got != a.Int(1) {
			return fmt.Sprintf("client %v was evicted %d times", id, got)
		}
		return ""
	})
}

func (n *network) quorum(set sim.NodeSet, want bool) (ok bool, why string) {
	for id, w := range n.running(set) {
		if w.Status().Quorum != want {
			return false, fmt.Sprintf("server %v has a quorum: %v", id, !want)
		}
	}
	return true, ""
}

func (n *network) noFalseEviction(scenario.Args) (ok bool, why string) {
	n.buriedAlive()
	return n.ledger.falsely == 0, n.ledger.firstFalse
}
