// Package scollsim runs clusters with server collectives in the simulator: it implements the
// protocol "scoll" of scenarios, at both levels, and serves benchmarks.
//
// A member's service replies with its own number and those in its children's replies. So a
// [Net] knows which answers arrived at the root, and checks for each broadcast that the
// members that the root reports missing are exactly the others; see [Broadcast].
//
// An oracle reports deaths to nodes with a delay, as gossip would (Config.Discovery), or nodes
// do not learn of deaths.
package scollsim
