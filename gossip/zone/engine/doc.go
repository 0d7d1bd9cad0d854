// Package engine is the machine of a zone: what a node sends, believes and tells, as a
// function of the time and of what arrives (paper "Design and Implementation of a Scalable
// Membership Service for Supercomputer Resiliency-Aware Runtime", here called the seed).
// Programs use package gossip/zone, whose agent steps a machine for them. The machine is
// here for who steps it himself: simulators, and research on the protocol.
//
// This package is unstable: names and fields change with the protocol's needs, without
// notice. What is sent does not.
//
// Every node has a full view: a map of ids to versions. It keeps links to its K_s
// successors on a ring and to K_r random members; the ends of a link watch each other
// by heartbeats and tell each other what changed, τ after it did. A member is removed
// when Θ nodes suspect it and it does not say itself that it is alive, in a newer
// version. Views are equal some time after changes end: nothing more is promised.
// Attributes of nodes travel on the same links, in the order in which their owner
// wrote them.
//
// A [Machine] names nodes by refs of a [Table], which machines of one process may share;
// [Addressed] steps one that has a table to itself by ids and addresses.
//
//	m, err := engine.New(cfg)
//	wake := m.Step(now, engine.Input{Kind: engine.Join, Inc: 1}, &out) // then send out.Sends, tell out.Events
//	wake = m.Step(now, engine.Input{Kind: engine.Arrived, Data: b}, &out)
//	wake = m.Step(wake, engine.Input{}, &out) // when it is time
//
// # Where this is not the letter of the seed
//
//	small views        Θ counts no one who is suspected himself: see Machine.enough
//	whole zones ill    who suspects very many is not believed, but by those who suspect
//	                   as many, and who loses over half of its links believes nothing
//	                   before one is confirmed
//	successors         as many more are asked as do not answer, so that few that are left
//	                   of many find all that are gone
//	reports again      of a node that refutes them are filed more and more rarely
//	suspicions of self refuted once per version, not once per report
//	goodbyes           of unknown nodes are remembered; those of itself a node refutes
//	repair             heartbeats compare hashes of views and of attributes; where they
//	                   stay different everything is exchanged, with the history
//	partitions         who meets the other side asks all that it had removed, for
//	                   themselves alone
//	pauses             time in which a node itself stood still does not count
//	connections        that are lost count when they can not be made again
//	attributes         versions have the owner's incarnation; parts of a table are
//	                   taken in order; what is not answered is asked of all
//	links above zones  an active delegate that no supervisor answers is replaced by a
//	                   registered one, by the attributes [supervisorKey] and
//	                   [supervisorsKey]; entries of the census say how old they are
//
// # Messages
//
// Package gossip/zone/wire has the messages and their bytes. A [Table] keeps the ids of nodes, which
// messages name by their refs.
//
// # Bounds
//
// An entry of a view takes 16 bytes, in pages that machines with one table share
// while they are equal; ids are kept once, in the table. The view has
// Config.MaxMembers entries, the history 8 for each and 4096 more, the table as many as
// both. Attributes of a node are bounded by their owner and by all who receive them.
// Whatever is refused is counted in [Stats].
package engine
