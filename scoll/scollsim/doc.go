// Package scollsim runs clusters with server collectives in the simulator: it
// is the protocol "scoll" of scenarios, at both levels, and what benchmarks of
// package scoll use.
//
// The service on its nodes collects: a member replies with its own number and
// those that its children replied with. So a [Net] knows which answers came to
// the root, and can say of each broadcast whether the members that the root
// says are missing are exactly the others; see [Broadcast].
//
// Nodes hear of deaths from an oracle with a delay, as they would from gossip
// (Config.Discovery), or not at all.
package scollsim
