// Package rmcastsim simulates groups with reliable multicast: it is the protocol "rmcast" of
// scenarios, at both levels, and the base of benchmarks.
//
// A [Net] keeps a ledger of all messages: which nodes delivered them and when, and what their
// origins were told. When a message is released, it checks that every member of the message's
// version has delivered it, once and unchanged, or is named as failed; see [Message].
//
// The first nodes are managers. An oracle reports deaths and returns to them with a delay, as
// gossip would (Config.Discovery).
package rmcastsim
