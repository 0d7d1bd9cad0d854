// Package scoll sends one request to thousands of servers over a tree and
// brings one aggregated answer back, together with the exact set of those that
// did not answer (design document "Server Collectives", here called the seed).
//
// A [Service] has callbacks; a [Group] is an ordered list of nodes with the
// entities on them. A broadcast goes down a spanning tree that every node
// computes for itself; on each node the service runs it, collects the answers
// of the node's children, and answers the parent.
//
// [Machine] is the protocol: a machine.Machine that knows no clock, no network
// and no service. What it wants done, calls of services included, are effects,
// and what comes of them are inputs. [Agent] lets an LNet node take part.
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
// Requests have at most [MaxMessage] bytes with all that rides on them. A node
// takes Config.MaxActive requests of others at a time, of which each node that
// sends to it has a share, and nodes on no list (Agent.SetListed) have a bounded one
// together; what comes unasked finds AgentConfig.Buffers buffers, or waits. What it
// knows of groups is a cache of Config.MaxGroups of them.
package scoll
