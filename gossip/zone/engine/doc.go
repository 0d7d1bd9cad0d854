// Package engine is the machine of a zone: which messages a node sends and which events it
// reports, as a function of the time and of the messages that arrive (paper "Design and
// Implementation of a Scalable Membership Service for Supercomputer Resiliency-Aware Runtime",
// here called the design). Programs use package gossip/zone, whose agent steps a machine for
// them; simulators and research on the protocol step it themselves.
//
// This package is unstable: names and fields change with the protocol's needs, without notice.
// The messages do not.
//
// Every node has a full view: a map of ids to versions. It keeps links to its K_s successors on
// a ring and to K_r random members; the ends of a link monitor each other by heartbeats and
// exchange updates, τ after a change. A member is removed when Θ nodes suspect it and it does
// not refute that with a newer version. Views are eventually equal: some time after the last
// change. Attributes of nodes travel on the same links, in the order in which their owner wrote
// them.
//
// A [Machine] names nodes by refs of a [Table], which machines of one process may share;
// [Addressed] steps a machine that has a table to itself, by ids and addresses.
//
//	m, err := engine.New(cfg)
//	wake := m.Step(now, engine.Input{Kind: engine.Join, Inc: 1}, &out) // then send out.Sends, report out.Events
//	wake = m.Step(now, engine.Input{Kind: engine.Arrived, Data: b}, &out)
//	wake = m.Step(wake, engine.Input{Kind: engine.Timer}, &out) // when the clock reaches wake
//
// # Where this is not the letter of the design
//
//	small views        Suspected members are not expected to report, so fewer than Θ reports
//	                   can be enough to remove a member: see Machine.enough
//	faulty nodes       Reports of a node that suspects very many members count only for
//	                   nodes that suspect as many. A node that loses over half of its links
//	                   accepts no report before one link is confirmed
//	successors         For each successor that does not answer, the node monitors one more,
//	                   so that the few survivors of many deaths find all nodes that are gone
//	repeated reports   A node that refutes suspicions is suspected by the same reporter
//	                   again only after longer and longer intervals (exponential back-off)
//	silent nodes       A suspected node has a grace period of 3τ to refute. In this time, the
//	                   nodes that are about to remove it ask it directly
//	reports of others  Reports that their reporters did not send to this node themselves remove
//	                   a member only when it could have refuted them: see Machine.relayGrace
//	suspicions of self A node refutes suspicions of itself once per version, not once per
//	                   report
//	goodbyes           The goodbye of an unknown node is remembered. A node refutes a goodbye
//	                   in its name that it did not say. One that others pass on waits for that
//	updates            Goodbyes, reports, refutations and returns are sent after τ/8, not τ; with
//	                   Θ = 1 reports of failures and returns are sent after τ
//	repair             Heartbeats compare hashes of views and of attributes. While they
//	                   differ, neighbours exchange everything, with the history
//	partitions         A node that hears of the other side asks each node that it had
//	                   removed whether that node is alive, and does not ask for its view
//	pauses             The time of a node's own pause does not count towards timeouts
//	connections        A lost connection counts as a failure only if it cannot be made again
//	attributes         The version of an attribute table includes the owner's incarnation.
//	                   Parts of a table are applied in order. An unanswered request is sent
//	                   again to all neighbours
//	links above zones  A registered delegate replaces an active delegate that no supervisor
//	                   answers. The attributes [supervisorKey] and [supervisorsKey] name the
//	                   supervisors. Entries of the census say how old they are
//
// # Messages
//
// Package gossip/zone/wire has the messages and their bytes. A [Table] keeps the ids of nodes,
// which messages name by their refs.
//
// # Bounds
//
// An entry of a view takes 16 bytes, in pages that machines with one table share while they are
// equal; ids are kept once, in the table. The view has Config.MaxMembers entries, the history 8
// for each and 4096 more, the table as many as both. The owner of attributes and all receivers
// enforce their bounds. [Stats] counts all that is refused.
package engine
