// Package zone tells every node of a zone which others are alive, and the attributes that
// they publish, for zones of some thousand nodes (paper "Design and Implementation
// of a Scalable Membership Service for Supercomputer Resiliency-Aware Runtime", here
// called the design).
//
// Every node has a full view: a map of ids to versions. It keeps links to some nodes on a
// ring and to some random members; the ends of a link monitor each other by heartbeats and
// exchange updates. A member is removed when enough nodes suspect it and it does not refute
// that with a newer version. Views are eventually equal: some time after the last change.
// Attributes of nodes travel on the same links, in the order in which their owner wrote
// them.
//
// [Agent] lets an LNet node be a member: it is a user of package portals like any other.
//
//	agent, err := zone.New(node.Table(), zone.Config{Zone: "rack1", Bootstrap: some})
//	stop := agent.Watch(func(e zone.Event) { ... }) // members that join or leave, attributes
//	err = agent.Join(0)
//	err = agent.Set("role", []byte("mds"))
//	err = errors.Join(agent.Leave(0), agent.Close(ctx))
//
// The protocol itself is a machine that knows no clock and no network, in package
// gossip/zone/engine, which says where it is not the letter of the design and what
// bounds its memory.
package zone
