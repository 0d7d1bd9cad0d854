// Package rmcast is reliable multicast: it sends each message once, by multicast, which may
// lose it, to all members of a group. Acknowledgements are combined up a binomial tree over
// reliable connections, so that the sender knows when every member has the message. The
// protocol follows Mansoor and Meehan, "Reliable Multicast Protocol Using Infiniband Remote
// Direct Memory Access", which the comments call the design.
//
// An [Agent] lets an LNet node take part. It is a user of package portals like any other.
//
//	agent, err := rmcast.New(node.Table(), rmcast.Config{View: gossip})
//	err = agent.Manage(rmcast.ManagerConfig{Group: 7, Managers: managers}) // on the managers
//	group, err := agent.Join(rmcast.GroupConfig{Group: 7, Managers: managers, Handle: handle})
//	err = group.Ready(ctx)
//	result, err := group.Send(ctx, data)
//	err = errors.Join(group.Leave(ctx), agent.Close(ctx))
//
// One manager of a group publishes lists of its members, others stand by. docs/multicast.md
// describes what users see when the network is partitioned, among other things. With keys, all
// messages are signed. A member keeps at most one window of datagrams for each origin and,
// where any node can join, 64 MiB for all.
//
// The state machines of the protocol are in package scoll/rmcast/engine. Its documentation says
// which statements of other nodes are trusted, and where the protocol differs from the design.
package rmcast
