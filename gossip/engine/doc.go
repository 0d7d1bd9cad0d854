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
// others take dead ones for live ones. With [Config].Strict the entries marked with * do not hold,
// and the letter of the design does; the other entries always hold.
//
//	limit of death *       The limit is 2⌈log2 N⌉ + 4 + fudge cycles, at least 16: an age
//	                       rises by one per cycle and by one per hop
//	return after death *   A dead participant counts as returned only at a smaller age than
//	                       the limit of death: not all nodes detect a death in the same
//	                       cycle, and a node that detects it late has no news of a return
//	obsolete messages *    The limit is 4⌈log2 N⌉ units of the clock, at least 40: the clock
//	                       advances by four to six units per cycle
//	clocks ahead           A clock that is far ahead is accepted when two participants agree
//	                       on it, see step.go: one message must not lead a node away from
//	                       all others
//	only obsolete messages If the majority of the participants that a node hears sends only
//	                       obsolete messages, the node sets its clock back to theirs
//	speed of the clock     Messages in step advance the clock by at most 8 units per cycle
//	second partner *       If the first partner of a cycle is probably dead, the node pings
//	                       a second one, see partner.go
//	other parameters *     A newcomer that has other parameters stops, not the cluster
//	pauses *               A node notices the cycles that it missed, see pause.go
//	order on receipt       A message is checked in this order: form, parameters, obsolete or
//	                       not, clock. Then its ages are merged and a ping is answered
//	initial ages           An age is 255 ("never heard") at first; known ages stop at 254
//	silence after a start  A node is silent after its start until all others have noticed
//	                       the death of its last incarnation
//	                       (collectives design, Design Notes), so that a restart is
//	                       never missed
//	list of participants   It can change while the cluster runs, see roll.go
//
// # Bounds
//
// A machine needs a byte per participant for the age, a few bits for its health, and memory for
// those that have died at least once. No message makes it grow.
package engine
