package zonesim

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"ulnet/gossip/zone/engine"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario/kit"
)

// Run runs the network until an instant, see sim.Network. When the time reaches Config.SeverAt, Run
// cuts Config.Sever links.
func (n *Net) Run(until time.Duration) error {
	if at := n.cfg.SeverAt; n.cfg.Sever > 0 && n.severed == nil && until >= at {
		if err := n.Control.Run(max(at, n.Now())); err != nil {
			return err
		}
		n.sever()
	}
	return n.Control.Run(until)
}

// sever cuts the configured number of links between supervisors and present delegates. The seed
// determines which.
func (n *Net) sever() {
	n.severed = make(map[[2]sim.NodeID]bool)
	var links [][2]sim.NodeID
	for _, g := range n.bases() {
		for id := range n.delegates(g) {
			for s := range n.supervisors.All(n.cfg.Nodes) {
				links = append(links, [2]sim.NodeID{s, id})
			}
		}
	}
	rng := rand.New(rand.NewPCG(n.cfg.Seed, 17))
	rng.Shuffle(len(links), func(i, j int) { links[i], links[j] = links[j], links[i] })
	for _, l := range links[:min(n.cfg.Sever, len(links))] {
		n.severed[l] = true
		n.Control.Cut(sim.Nodes(l[0]), sim.Nodes(l[1]))
		n.Control.Cut(sim.Nodes(l[1]), sim.Nodes(l[0]))
	}
}

// delegates yields the present delegates of a base zone that take part.
func (n *Net) delegates(g *group) iter.Seq[sim.NodeID] {
	return func(yield func(sim.NodeID) bool) {
		for id := range n.taking(g.nodes) {
			if n.incarnations[id].delegation().Delegate && !yield(id) {
				return
			}
		}
	}
}

// way reports whether a delegate has a link to a supervisor that takes part.
func (n *Net) way(delegate sim.NodeID) bool {
	for id := range n.taking(n.supervisors) {
		if !n.severed[[2]sim.NodeID{id, delegate}] {
			return true
		}
	}
	return false
}

// censusTold reports whether each supervisor that takes part has the right entry of every base
// zone (MS-98, MS-100). If a delegate of the zone has a link to a supervisor, the entry must be
// current, and from an active delegate with a link to its supervisor. If no delegate has such a link,
// the entry must be stale or lost.
func (n *Net) censusTold(by sim.NodeSet) (bool, string) {
	return kit.All(slices.Values(n.bases()), func(g *group) string {
		delegates := slices.Collect(n.delegates(g))
		if len(delegates) == 0 {
			return ""
		}
		reached := slices.ContainsFunc(delegates, n.way)
		_, why := kit.All(n.taking(n.supervisors, by), func(id sim.NodeID) string { return n.wrongEntry(id, g, reached) })
		return why
	})
}

// wrongEntry returns what is wrong with the entry of a zone in the census of a supervisor.
func (n *Net) wrongEntry(supervisor sim.NodeID, g *group, reached bool) string {
	e, ok := n.entry(supervisor, g)
	if !ok {
		return fmt.Sprintf("supervisor %v does not know %s", supervisor, g.name)
	}
	if !reached {
		if e.State == engine.Current {
			return fmt.Sprintf("supervisor %v takes the entry of %s for current", supervisor, g.name)
		}
		return ""
	}
	d, _ := n.nodeOf(e.Delegate)
	guard, _ := n.nodeOf(e.Supervisor)
	switch {
	case e.State != engine.Current:
		return fmt.Sprintf("in the eyes of supervisor %v %s is %v", supervisor, g.name, e.State)
	case !n.takesPart(d) || !n.takesPart(guard) || n.incarnations[d].delegation().Activation != e.Activation:
		return fmt.Sprintf("supervisor %v takes node %v for the active delegate of %s at %v", supervisor, d, g.name, guard)
	case n.severed[[2]sim.NodeID{guard, d}]:
		return fmt.Sprintf("in the eyes of supervisor %v node %v speaks for %s to %v, which it does not reach", supervisor, d, g.name, guard)
	}
	return ""
}

// censusKept reports whether each supervisor that takes part has an entry of every base zone,
// in whatever state.
func (n *Net) censusKept(by sim.NodeSet) (bool, string) {
	return kit.All(n.taking(n.supervisors, by), func(id sim.NodeID) string {
		_, why := kit.All(slices.Values(n.bases()), func(g *group) string {
			if _, ok := n.entry(id, g); !ok {
				return fmt.Sprintf("supervisor %v does not know %s", id, g.name)
			}
			return ""
		})
		return why
	})
}

// entry returns the census entry of a base zone at a supervisor.
func (n *Net) entry(supervisor sim.NodeID, g *group) (engine.CensusEntry, bool) {
	for _, e := range n.incarnations[supervisor].census() {
		if e.Zone == g.name {
			return e, true
		}
	}
	return engine.CensusEntry{}, false
}
