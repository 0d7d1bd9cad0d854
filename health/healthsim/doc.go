// Package healthsim runs clusters with client health in the simulator: it is the protocol "health"
// of scenarios, for tests and benchmarks.
//
// The first nodes are servers, the others clients. The network records the ground truth, which
// is what was done to its nodes and links. By it the network judges each eviction: whether the
// client gave a cause, and whether an evicted incarnation came back.
//
// At the level of stacks, gossip, collectives and agents run above portals. At the level of
// machines, servers learn of deaths from the machine of gossip itself (the option gossip), or from
// an oracle with a delay, which like gossip takes a pause or a partition for a death. A
// broadcast goes down a tree of the servers that its root believes to be alive. A server that
// does not answer in time is missing together with all servers below it.
package healthsim
