// Package scoll sends one request to thousands of servers over a tree and brings one
// aggregated answer back, together with the exact set of the servers that did not answer.
// The design is in docs/spec/collectives.md.
//
// A [Handler] answers questions, and [Group.Call] asks all members of a group:
//
//	agent, err := scoll.New(node.Table(), scoll.Config{View: gossip})
//	err = agent.Handle(7, scoll.Handler{Answer: answer, Merge: scoll.Sum.Merge})
//	group, err := agent.NewGroup(ctx, 7, servers...)
//	result, err := group.Call(ctx, scoll.CallConfig{Payload: question})
//	err = agent.Close(ctx)
//
// The alternative is a [Service], whose callbacks see every message of the tree. See
// docs/collectives.md for both.
//
// The protocol is a machine without clock and network, in package scoll/engine, whose
// documentation lists its bounds and its differences from the design.
package scoll
