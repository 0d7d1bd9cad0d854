// Package rmcast sends messages to all members of a group: once, by multicast, which
// may lose them, and with acknowledgements that climb a binomial tree over reliable
// links, so that the sender goes on only when every member has its message (Mansoor
// and Meehan, "Reliable Multicast Protocol Using Infiniband Remote Direct Memory
// Access", here called the seed).
//
// [Agent] lets an LNet node take part: it is a user of package portals like any other.
//
//	agent, err := rmcast.New(node.Table(), rmcast.Config{View: gossip})
//	err = agent.Manage(rmcast.ManagerConfig{Group: 7, Managers: managers}) // on the managers
//	group, err := agent.Join(rmcast.GroupConfig{Group: 7, Managers: managers, Handle: handle})
//	err = group.Ready(ctx)
//	result, err := group.Send(ctx, data)
//	err = errors.Join(group.Leave(ctx), agent.Close(ctx))
//
// One manager makes lists of members, others stand by. What a split network means to users,
// and more, is in docs/multicast.md. With keys all messages are signed. A member keeps at
// most one window of datagrams for each origin; where any node can join, 64 MiB for all.
//
// The protocol itself is machines that know no clock and no network, in package
// scoll/rmcast/engine, which says what is believed of whom and where it is not the letter of
// the seed.
package rmcast
