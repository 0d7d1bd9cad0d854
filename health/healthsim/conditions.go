package healthsim

import (
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
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

var conditions = kit.Conditions[*Net]{
	kit.Ask("settled", "each client that is up has a master that runs, and all servers that are connected to it agree on its incarnation, master and epoch; of those that are down no server knows anything",
		func(n *Net, a scenario.Args) (bool, string) { return n.Settled(a.Among(0)) }, optional(clientsArg)),
	kit.Ask("attached", "each client that runs is connected to all of these servers that run",
		func(n *Net, a scenario.Args) (bool, string) { return n.Attached(a.Among(1), a.Among(0)) }, optional(serversArg), optional(clientsArg)),
	kit.Ask("master-in", "each client that runs has one of these servers as its master",
		func(n *Net, a scenario.Args) (bool, string) { return n.MasterIn(a.Among(0), a.Among(1)) }, serversArg, optional(clientsArg)),
	kit.Ask("forgotten", "no server that runs, or none of these, knows any of the clients",
		func(n *Net, a scenario.Args) (bool, string) { return n.forgotten(a.Among(0), a.Among(1)) }, clientsArg, optional(serversArg)),
	kit.Ask("evicted", "each of the clients was told so often that all servers had evicted it",
		func(n *Net, a scenario.Args) (bool, string) { return n.evictedTimes(a.Among(0), a.Int(1)) }, clientsArg, timesArg),
	kit.Ask("quorum", "each server that runs has a quorum",
		func(n *Net, a scenario.Args) (bool, string) { return n.Quorum(a.Among(0), true) }, optional(serversArg)),
	kit.Ask("no-quorum", "no server that runs has a quorum",
		func(n *Net, a scenario.Args) (bool, string) { return n.Quorum(a.Among(0), false) }, optional(serversArg)),
	kit.Ask("no-false-eviction", "no client was told that all have evicted it, or that it runs elsewhere, and of none do most servers have the tombstone, which had run, reached every server, and lost no message before",
		(*Net).noFalseEviction),
	kit.Ask("uniform", "no server took an incarnation whose tombstones most have; when nothing has been done to servers and links for T_q + T_orphan, none holds an incarnation of which it or another one has a tombstone; and none a client that is gone, for longer than it takes to evict it",
		func(n *Net, _ scenario.Args) (bool, string) { return n.uniform(false) }),
	kit.Ask("uniform-most", "the same, but for tombstones that no more than half of the servers have",
		func(n *Net, _ scenario.Args) (bool, string) { return n.uniform(true) }),
}

// Check implements [scenario.Instance].
func (n *Net) Check(condition string, args scenario.Args) (bool, string) {
	return conditions.Check(n, condition, args)
}

func (n *Net) noFalseEviction(scenario.Args) (bool, string) {
	n.buriedAlive()
	return n.ledger.outcome.False == 0, n.ledger.outcome.FirstFalse
}
