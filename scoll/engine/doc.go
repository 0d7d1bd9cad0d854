// Package engine is the machine of server collectives (design document "Server
// Collectives", here called the seed): what a node does with requests, replies and time.
// Programs use package scoll, whose agent steps a machine for them. It is here for
// simulators, and for research on the protocol.
//
// This package is unstable: names and fields change with the protocol's needs, without
// notice. What is sent does not, see package scoll/wire.
//
// [Machine] is a machine.Machine that knows no clock, no network and no service. What it
// wants done, calls of services included, are effects, and what comes of them are inputs:
//
//	m := engine.New(engine.Config{Self: id, Incarnation: incarnation})
//	m.Step(now, engine.Input{Kind: engine.Register, Service: 7}, &out)
//	wake := m.Step(now, engine.Input{Kind: engine.Arrival, From: parent, Data: b}, &out)
//	// do what out.Effects say
//
// # Where this is not the letter of the seed
//
//	order of children    deepest subtree first, see scoll/tree
//	time-outs            d·(R+g+b)+P: a guard per level, see config.go
//	trailer              every answer carries, beside what the service says, the
//	                     members that are missing, so that the root's list is
//	                     exact whatever services do
//	silent services      are answered for by the module, by name
//	digest mismatch      is answered, not dropped: nobody waits for it
//	unknown groups       the sender that is told ENOGROUP sends that child the
//	                     request again, with the list of members; the root need
//	                     not repeat what others have run
//	pipelined bulk data  a handle's option, off at first (Group.SetSegment): a
//	                     request is forwarded before its bulk data is there, and
//	                     parents tell children how much they have. Who gets no
//	                     more tells parent and children; nobody below it has run
//	                     the request, so that the list stays exact
//	replayed requests    are dropped: an answer would end the one under way
//	incarnations         end what earlier ones made when the node that has them says
//	                     so, not when a message of another node does
//	signatures           keys that members share sign all messages (package keyring)
//
// # Bounds
//
// Requests have at most wire.MaxMessage bytes with all that rides on them. A node takes
// Config.MaxActive requests of others at a time, of which each node that sends to it has a
// share, and nodes on no list (Listed) have a bounded one together. What it knows of groups
// is a cache of Config.MaxGroups of them.
package engine
