// Package gossipsim runs clusters of gossip nodes in the simulator: it is the
// protocol "gossip" of scenarios, at both levels, and the base of tests and
// benchmarks of package gossip.
//
// A [Net] records what is done to its nodes. With that ground truth it finds wrong
// events at any time: the death of a node that is fine, the return of one that is
// down.
//
// # Memory
//
// A bare machine takes a byte and a quarter for each participant, and some
// hundred bytes. The memory of messages in flight is reused, unless a link
// duplicates messages.
package gossipsim
