// Package zone tells every node of a zone which others are alive, and what they say
// of themselves, for zones of some thousand nodes (paper "Design and Implementation
// of a Scalable Membership Service for Supercomputer Resiliency-Aware Runtime", here
// called the seed).
//
// Every node has a full view: a map of ids to versions. It keeps links to some nodes on a
// ring and to some random members; the ends of a link watch each other by heartbeats and
// tell each other what changed. A member is removed when enough nodes suspect it and it
// does not say itself that it is alive, in a newer version. Views are equal some time after
// changes end: nothing more is promised. Attributes of nodes travel on the same links, in
// the order in which their owner wrote them.
//
// [Agent] lets an LNet node be a member: it is a user of package portals like any other.
//
//	agent, err := zone.New(node.Table(), zone.Config{Zone: "rack1", Bootstrap: some})
//	stop := agent.Watch(func(e zone.Event) { ... }) // who joins, leaves, says something
//	err = agent.Join(0)
//	err = agent.Set("role", []byte("mds"))
//	err = errors.Join(agent.Leave(0), agent.Close(ctx))
//
// The protocol itself is a machine that knows no clock and no network, in package
// gossip/zone/engine, which says where it is not the letter of the seed and what bounds its
// memory.
package zone
