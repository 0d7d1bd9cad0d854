// Package gossipsim runs clusters of gossip nodes in the simulator: it is the
// protocol "gossip" of scenarios, at both levels, and what tests and
// benchmarks of package gossip use.
//
// A [Net] knows what is done to its nodes, so that it can say at any time
// which of the things that they say are wrong: a death of a node that is fine,
// a return of one that is not.
//
// # Memory
//
// A bare machine takes a byte and a quarter for each participant, and some
// hundred bytes. Messages take memory while they are on their way; it is used
// again, unless a link doubles messages.
package gossipsim
