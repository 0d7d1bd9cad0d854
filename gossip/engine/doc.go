// Package engine is the machine of gossip: which messages a participant sends and which events
// it reports, as a function of the time and of the messages that arrive (design document
// "Reduction Network Discovery", here called the design). Programs use package gossip, whose
// agent steps a machine for them; simulators and research on the protocol step it themselves.
//
// This package is unstable: names and fields change with the protocol's needs, without notice.
// The messages do not, see package gossip/wire.
//
//	m, err := engine.New(cfg, list, self)
//	wake := m.Step(now, engine.Input{Kind: engine.Timer}, &out) // then send out.Sends, report out.Events
//	wake = m.Step(now, engine.Input{Kind: engine.Ping, From: id, Data: b}, &out)
//	wake = m.Step(wake, engine.Input{Kind: engine.Timer}, &out) // when the clock reaches wake
//
// [Config.Limits] and [NewList] check parameters without a machine, and compute what follows
// from them.
//
// # Where this is not the letter of the design
//
// Read literally, the design's rules declare live nodes dead, and a node that was paused makes
// others take dead ones for live ones. [Config].Strict keeps to the letter where an entry is
// marked with *; all else is common to both.
//
//	limit of death *       2⌈log2 N⌉ + 4 + fudge cycles, at least 16: an age
//	                       rises by one per cycle and by one per hop
//	return after death *   only at a smaller age: not all nodes detect a death in the
//	                       same cycle, and the last ones have no news of a return
//	obsolete messages *    4⌈log2 N⌉ units of the clock, at least 40: the clock
//	                       makes four to six units per cycle
//	clocks ahead           are accepted when two participants agree, see step.go:
//	                       one message must not lead a node away from the others
//	only obsolete ones     from the majority set the clock back to theirs
//	speed of the clock     at most 8 units per cycle from messages in step
//	second partner *       where the first one is probably dead, see partner.go
//	other parameters *     stop the newcomer that has them, not the cluster
//	pauses *               missed cycles are noticed, see pause.go
//	order on receipt       form, parameters, obsolete, clock, ages, reply
//	initial ages           255, "never heard"; known ages stop at 254
//	silence after a start  until all others have noticed the death (collectives design,
//	                       Design Notes), so that a restart is never missed
//	list of participants   can change while the cluster runs, see roll.go
//
// # Bounds
//
// A machine needs a byte per participant for the age, a few bits for its health, and memory for
// those that have died at least once. No message makes it grow.
package engine
