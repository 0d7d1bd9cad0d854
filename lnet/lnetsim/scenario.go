package lnetsim

import (
	"cmp"
	"fmt"

	"ulnet/lnd"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/lnd/simlnd"
)

// Protocol makes LNet available to scenarios.
var Protocol = &scenario.Protocol{
	Name:    "lnet",
	Summary: "whole LNet nodes that put, get and ping",
	Options: []scenario.Option{
		{Name: "operation", Default: "put", Kind: scenario.Choice, Choices: []string{"put", "get", "ping"}, Doc: "what nodes do at their rate"},
		{Name: "rate", Default: "10", Kind: scenario.Number, Most: 1_000_000, Doc: "operations that each node begins per second; 0 only those of verbs"},
		{Name: "outstanding", Default: "8", Kind: scenario.Count, Least: 1, Most: 1 << 20, Doc: "a node with so many operations under way begins none at its rate"},
		{Name: "partners", Default: "0", Kind: scenario.Count, Most: scenario.MaxNodes, Doc: "how many nodes, those that follow it, each node speaks to; 0 all"},
		{Name: "size", Default: "64", Kind: scenario.Count, Most: lnd.MaxPayload, Doc: "bytes of payload"},
		{Name: "timeout", Default: "10s", Kind: scenario.Duration, Doc: "LNet's transaction timeout; 0s is the default too"},
		{Name: "credits", Default: "256", Kind: scenario.Count, Least: 1, Most: 1 << 20, Doc: "messages in flight per node"},
		{Name: "peer-credits", Default: "8", Kind: scenario.Count, Least: 1, Most: 1 << 20, Doc: "messages in flight to one peer"},
		{Name: "window", Default: "2097152", Kind: scenario.Count, Least: 1, Most: 1 << 30, Doc: "bytes that a peer which takes nothing is sent"},
		{Name: "rails", Default: "1", Kind: scenario.Count, Least: 1, Most: int(simlnd.MaxRails), Doc: "NIs of each node on each of its nets"},
		{Name: "nets", Default: "1", Kind: scenario.Count, Least: 1, Most: maxNets, Doc: "nets that the nodes are spread over, in blocks"},
		{Name: "routers", Default: "0", Kind: scenario.Count, Most: scenario.MaxNodes, Doc: "how many of the first nodes are on every net and route"},
		{Name: "check-interval", Default: "5s", Kind: scenario.Duration, Doc: "how often nodes check the gateways of their routes; after twice that without a ping a router takes a net for down"},
		{Name: "discovery", Default: "on", Kind: scenario.Switch, Doc: "nodes discover a peer before the first message to it"},
	},
	Verbs: []scenario.Verb{
		{Name: "put", Args: []scenario.Arg{peerArg, countArg}, Doc: "the node puts to another one"},
		{Name: "get", Args: []scenario.Arg{peerArg, countArg}, Doc: "the node gets from another one"},
		{Name: "ping", Args: []scenario.Arg{peerArg, countArg}, Doc: "the node pings another one"},
		{Name: "urgent", Args: []scenario.Arg{peerArg, countArg}, Doc: "as put, with priority"},
		{Name: "start", Doc: "the node begins operations at its rate"},
		{Name: "stop", Doc: "the node begins none of its own any more"},
		{Name: "probe", Doc: "the node puts to every other one; the condition probed tells of these"},
		{Name: "leave", Doc: "the node's LNet shuts down"},
		{Name: "unplug", Args: []scenario.Arg{railArg}, Doc: "a rail of the node loses its carrier, and LNet there is told"},
		{Name: "plug", Args: []scenario.Arg{railArg}, Doc: "the carrier of a rail is back"},
		{Name: "sever", Args: []scenario.Arg{railArg}, Doc: "a rail of the node loses all that goes through it, and no node is told"},
		{Name: "mend", Args: []scenario.Arg{railArg}, Doc: "a severed rail is whole again"},
	},
	Conditions: conditions.Declared(),
	Series: []scenario.Quantity{
		{Name: "begun", Unit: "operations", Doc: "operations begun"},
		{Name: "answered", Unit: "operations", Doc: "operations answered"},
		{Name: "failed", Unit: "operations", Doc: "operations that have failed"},
		{Name: "outstanding", Unit: "operations", Doc: "operations under way on nodes that are up"},
	},
	Levels:       []scenario.Level{scenario.Stacks},
	LeastNodes:   2,
	BytesPerNode: bytesPerNode,
	New:          newNet,
}

var (
	peerArg  = scenario.Arg{Name: "node", Kind: scenario.Node}
	railArg  = scenario.Arg{Name: "rail", Kind: scenario.Count, Least: 1, Most: int(simlnd.MaxRails)}
	countArg = scenario.Arg{Name: "count", Kind: scenario.Count, Least: 1, Most: 1 << 20, Optional: true}
)

// optional returns an argument for a node, which may be left out.
func optional(name string) scenario.Arg {
	return scenario.Arg{Name: name, Kind: scenario.Node, Optional: true}
}

// bytesPerNode estimates the memory of a node's stack: idle, what the first message adds, and
// what each partner adds at both ends of a connection.
func bytesPerNode(_ scenario.Level, nodes int, o scenario.Values) int64 {
	const idle, talking, partner = 25 << 10, 8 << 10, 3800
	partners := cmp.Or(o.Int("partners"), nodes-1)
	return idle + talking + partner*int64(min(partners, nodes-1))
}

func newNet(s *scenario.Setup) (scenario.Instance, error) {
	o := s.Options
	return newNetwork(config{
		Network: s.Network, Window: o.Int("window"),
		Kind: parseKind(o["operation"]), Rate: o.Float("rate"), Outstanding: o.Int("outstanding"),
		Partners: o.Int("partners"), Size: payload(o.Int("size")), Timeout: o.Duration("timeout"), Discovery: o.On("discovery"),
		Tunables: lnd.Tunables{Credits: o.Int("credits"), PeerCredits: o.Int("peer-credits")},
		Nets:     o.Int("nets"), Rails: o.Int("rails"), Routers: o.Int("routers"),
		Check: o.Duration("check-interval"),
	})
}

// payload converts a size to config.Size, where 0 is the default.
func payload(size int) int {
	if size == 0 {
		return -1
	}
	return size
}

var conditions = kit.Conditions[*network]{
	kit.Ask("settled", "no operation is under way",
		func(n *network, _ scenario.Args) (bool, string) {
			under := n.outstanding()
			return under == 0, fmt.Sprintf("%d operations are under way", under)
		}),
	kit.Ask("all-answered", "none is under way, and none has failed",
		func(n *network, _ scenario.Args) (bool, string) {
			under, failed := n.outstanding(), n.stats.Failed
			return under == 0 && failed == 0, fmt.Sprintf("%d operations are under way, %d have failed", under, failed)
		}),
	kit.Ask("probed", "there were probes, and all of the latest instant were answered",
		func(n *network, _ scenario.Args) (bool, string) {
			p := &n.probes
			return p.begun > 0 && p.answered == p.begun, fmt.Sprintf("%d of %d probes were answered%s", p.answered, p.begun, p.failed)
		}),
	kit.Ask("lost-probes", "there were probes, and no node has lost more than this number of those to any other one, or, with two nodes, the first to the second",
		func(n *network, a scenario.Args) (bool, string) { return n.lostAtMost(a) },
		scenario.Arg{Name: "count", Kind: scenario.Count}, optional("from"), optional("to")),
	kit.Ask("failed-operations", "of the operations of the first node on the second one no more than this number have failed",
		func(n *network, a scenario.Args) (bool, string) { return n.failedAtMost(a) },
		scenario.Arg{Name: "count", Kind: scenario.Count}, scenario.Arg{Name: "from", Kind: scenario.Node}, scenario.Arg{Name: "to", Kind: scenario.Node}),
	kit.Ask("credits-returned", "every node that is up has all its credits, and nothing waits for one",
		func(n *network, _ scenario.Args) (bool, string) { return kit.All(n.each(false), (*member).lacking) }),
	kit.Ask("one-send", "every PUT and GET that has ended had one SEND event, whatever was tried, and one answer at most",
		func(n *network, _ scenario.Args) (bool, string) {
			s := &n.stats
			return s.Unsent+s.Resent+s.Surplus == 0,
				fmt.Sprintf("%d operations without a SEND event, %d SEND events too many, %d events after the answer", s.Unsent, s.Resent, s.Surplus)
		}),
	kit.Ask("exactly-once", "no PUT or GET was delivered twice, to another node or in another size, or answered without being delivered",
		func(n *network, _ scenario.Args) (bool, string) {
			s := &n.stats
			return s.Twice+s.Phantoms+s.Misplaced == 0,
				fmt.Sprintf("%d deliveries too many, %d to another node or in another size, %d answers without one", s.Twice, s.Misplaced, s.Phantoms)
		}),
	kit.Ask("protocol-kept", "no node was sent a message that breaks the protocol, which closes the connection",
		func(n *network, _ scenario.Args) (bool, string) { return kit.All(n.each(true), (*member).breached) }),
}

// Check implements [scenario.Instance].
func (n *network) Check(condition string, args scenario.Args) (bool, string) {
	return conditions.Check(n, condition, args)
}

// Sample implements [scenario.Instance].
func (n *network) Sample() []float64 {
	s := &n.stats
	return []float64{float64(s.Begun), float64(s.Answered), float64(s.Failed), float64(n.outstanding())}
}

// Measures implements [scenario.Instance].
func (n *network) Measures() []scenario.Measure {
	s := n.counters()
	list := []scenario.Measure{
		{Name: "operations", Value: float64(s.Begun)},
		{Name: "answered", Value: float64(s.Answered)},
		{Name: "failed", Value: float64(s.Failed)},
		{Name: "held back", Value: float64(s.HeldBack)},
		{Name: "LNet messages", Value: float64(s.Messages)},
		{Name: "LNet drops", Value: float64(s.Drops)},
		{Name: "lowest peer credits", Value: float64(s.MinCredits)},
	}
	for _, p := range []struct {
		name string
		q    float64
	}{{"latency p50", 0.5}, {"latency p90", 0.9}, {"latency p99", 0.99}, {"latency worst", 1}} {
		list = append(list, scenario.Measure{Name: p.name, Unit: "ms", Value: kit.Quantile(n.took, p.q).Seconds() * 1e3})
	}
	return list
}
