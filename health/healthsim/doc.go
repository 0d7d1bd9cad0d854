// Package healthsim runs clusters with client health in the simulator: it is the
// protocol "health" of scenarios, and what tests and benchmarks of package
// health use.
//
// The first nodes are servers, the others clients. A [Net] knows what is done to
// its nodes, so that it can say of each eviction whether the client had given
// cause for it, and whether what was evicted came back; see [Outcome].
//
// At the level of stacks, gossip, collectives and agents run above portals. At the
// level of machines servers hear of deaths from an oracle with a delay,
// which takes a pause and a partition for a death as gossip does, or from gossip
// itself (Config.Gossip). A broadcast goes over a tree of those that its root
// holds for alive, and misses who does not answer in time with all below it.
package healthsim
