// Package scollsim runs clusters with server collectives in the simulator: it implements the
// protocol "scoll" of scenarios, at both levels, and serves benchmarks.
//
// A member's service replies with its own number and the numbers in its children's replies. By
// them a [Net] knows which answers arrived at the root. For each broadcast it checks that the
// root reports exactly the other members as missing; see [Broadcast].
//
// An oracle reports deaths to nodes with a delay, as gossip would (Config.Discovery). It can be
// turned off; then nodes do not learn of deaths.
package scollsim
