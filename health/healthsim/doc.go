// Package healthsim runs clusters with client health in the simulator: it is the protocol "health"
// of scenarios, for tests and benchmarks.
//
// The first nodes are servers, the others clients. The network records the ground truth: what
// was done to its nodes and links. From the ground truth it judges each eviction: whether the
// client gave a cause for it, and whether an evicted incarnation came back.
//
// At the level of stacks, gossip, collectives and agents run above portals. At the level of
// machines, servers learn of deaths from the machine of gossip itself (the option gossip), or
// from an oracle, which reports deaths with a delay and, like gossip, takes a pause or a
// partition for a death. A broadcast goes down a tree of the servers that its root believes to
// be alive. If a server does not answer in time, it counts as missing together with all servers
// below it.
package healthsim
