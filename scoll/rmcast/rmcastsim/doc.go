// Package rmcastsim runs groups with reliable multicast in the simulator: it is the
// protocol "rmcast" of scenarios, at both levels, and what benchmarks of package rmcast
// use.
//
// A [Net] keeps books of all messages: who delivered them when, and what their origins
// were told. So it can say, at the instant at which a message is released, whether all
// members of its version have it, once and unchanged, or are named as failed; see
// [Message].
//
// The first nodes are managers. They hear of deaths and returns from an oracle with a
// delay, as they would from gossip (Config.Discovery).
package rmcastsim
