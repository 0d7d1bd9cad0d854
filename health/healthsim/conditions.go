package healthsim

import (
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
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

var conditions = []scenario.Condition{
	{Name: "settled", Args: []scenario.Arg{optional(clientsArg)}, Doc: "each client that is up has a master that runs, and all servers that are connected to it agree on its life, master and epoch; of those that are down no server knows anything"},
	{Name: "attached", Args: []scenario.Arg{optional(serversArg), optional(clientsArg)}, Doc: "each client that runs is connected to all of these servers that run"},
	{Name: "master-in", Args: []scenario.Arg{serversArg, optional(clientsArg)}, Doc: "each client that runs has one of these servers as its master"},
	{Name: "forgotten", Args: []scenario.Arg{clientsArg, optional(serversArg)}, Doc: "no server that runs, or none of these, knows any of the clients"},
	{Name: "evicted", Args: []scenario.Arg{clientsArg, timesArg}, Doc: "each of the clients was told so often that all servers had evicted it"},
	{Name: "quorum", Args: []scenario.Arg{optional(serversArg)}, Doc: "each server that runs has a quorum"},
	{Name: "no-quorum", Args: []scenario.Arg{optional(serversArg)}, Doc: "no server that runs has a quorum"},
	{Name: "no-false-eviction", Doc: "no client was told that all have evicted it, or that it runs elsewhere, and of none do most servers have the tombstone, which had run, reached every server, and lost no message before"},
	{Name: "uniform", Doc: "no server took a life whose tombstones most have; when nothing has been done to servers and links for T_q + T_orphan, none holds a life of which it or another one has a tombstone; and none a client that is gone, for longer than it takes to evict it"},
	{Name: "uniform-most", Doc: "the same, but for tombstones that no more than half of the servers have"},
}

// Check implements [scenario.Instance].
func (in *instance) Check(condition string, args scenario.Args) (bool, string) {
	n := in.Net
	set := func(i int) sim.NodeSet {
		if len(args) <= i {
			return sim.AllNodes
		}
		return args.Nodes(i)
	}
	switch condition {
	case "settled":
		return n.Settled(set(0))
	case "attached":
		return n.Attached(set(1), set(0))
	case "master-in":
		return n.MasterIn(set(0), set(1))
	case "forgotten":
		return n.Forgotten(set(0), set(1))
	case "evicted":
		return n.EvictedTimes(set(0), args.Int(1))
	case "quorum":
		return n.Quorum(set(0), true)
	case "no-quorum":
		return n.Quorum(set(0), false)
	case "no-false-eviction":
		n.buriedAlive()
		return n.ledger.verdict.False == 0, n.ledger.verdict.FirstFalse
	}
	return n.Uniform(condition == "uniform-most")
}
