// Package scoll sends one request to thousands of servers over a tree and
// brings one aggregated answer back, together with the exact set of those that
// did not answer (design document "Server Collectives", here called the seed).
//
// A [Handler] answers questions, and [Group.Call] asks all members of a group:
//
//	agent, err := scoll.New(node.Table(), scoll.Config{View: gossip})
//	err = agent.Handle(7, scoll.Handler{Answer: answer, Merge: scoll.Sum.Merge})
//	group, err := agent.NewGroup(ctx, 7, servers...)
//	result, err := group.Call(ctx, scoll.CallConfig{Payload: question})
//	err = agent.Close(ctx)
//
// A [Service] has callbacks instead, which see every message of the tree.
// docs/collectives.md says more.
//
// The protocol is a machine that knows no clock and no network, in package
// scoll/engine, which says what bounds it and where it is not the letter of the seed.
package scoll
