// Package engine is the protocol machine of server collectives, whose design is in
// docs/spec/collectives.md. Programs use package scoll, whose agent steps a machine for
// them. Simulators, and research on the protocol, step it themselves.
//
// This package is unstable: names and fields change without notice. The format of messages
// does not, see package scoll/wire.
//
// [Machine] is a machine.Machine without clock, network and services. Its outputs are
// effects, calls of services included, and its inputs are arrivals, and results of effects:
//
//	m := engine.New(engine.Config{Self: id, Incarnation: incarnation})
//	m.Step(now, engine.Input{Kind: engine.Register, Service: 7}, &out)
//	wake := m.Step(now, engine.Input{Kind: engine.Arrival, From: parent, Data: b}, &out)
//	// do what out.Effects say
//
// # Differences from the design
//
//	order of children    A member sends to the child with the deepest subtree first, see
//	                     scoll/tree
//	timeouts             d·(R+g+b)+P: a guard g for each level, see config.go
//	trailer              Every answer carries the list of missing members beside the
//	                     service's payload, so that the root's list is exact
//	                     whatever services do
//	silent services      If a service does not answer, the module answers in its place,
//	                     and names the member
//	digest mismatch      A request with another digest of the group is answered with an
//	                     error, not dropped, so that no node waits for a timeout
//	unknown groups       A sender that gets ENOGROUP sends that child the request
//	                     again, with the list of members; the root does not have
//	                     to repeat the broadcast
//	pipelined bulk data  This is an option of a handle (Group.SetSegment), off by default:
//	                     a member forwards a request before it has all bulk data,
//	                     and tells its children how much it has. A member that
//	                     gets no more data tells its parent and its children; no
//	                     member below it has run the request, so that the list
//	                     stays exact
//	replayed requests    A request with a sequence number that was used is dropped: an answer
//	                     would end the request under way
//	incarnations         A later incarnation ends the state of earlier ones when the
//	                     node itself confirms it, not when another node reports it
//	signatures           With keys that members share, all messages are signed (package
//	                     keyring)
//
// # Bounds
//
// A request has at most wire.MaxMessage bytes with everything. A node runs Config.MaxActive
// requests of other nodes at a time; each sender has a share of these, and all unlisted
// nodes (Listed) have a share together. Groups are kept in a cache of Config.MaxGroups.
package engine
