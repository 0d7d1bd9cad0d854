// Package faultrule has the drop and delay rules of LNet's fault injection (lnet/net_fault.c,
// lnet-semantics §17): which messages match a rule, which of those the rule hits, and what it
// counts.
//
// A [Set] is pure: the instant and the random source are given to it, so that the same messages
// in the same order have the same outcome. It drops, fails and delays nothing itself: package
// lnd/fault asks it about each message and carries out the answer, beside rules of its own that
// have other effects and other rates. LNet's rules are a package of their own, because they
// need only headers and NIDs, and because every driver, the simulator, and the commands that
// parse and print them use the same rules.
//
// # Which rule acts
//
//	drop rule without a health error   A message that arrives is discarded
//	drop rule with health errors       A message that is sent fails with one of these
//	                                   classes of failure, and LNet may send it again
//	delay rule                         A message that is sent or arrives waits for the latency
//
// Rules are asked from the newest to the oldest. The first one that fires wins, and older ones
// are not asked. A rule that matches a message counts it even if it does not fire.
//
// # Which of its messages a rule hits
//
//	rate r      Of each r messages in a row that match, one at a random position
//	interval i  In each window of i seconds, the first message after a random second of
//	            that window
//	random      Each message with a fixed probability, independent of other messages
//	drop all    Each message
//
// Each rule must have either a rate or an interval, even one that drops at random or drops
// all.
//
// A Set is not safe for concurrent use.
package faultrule
