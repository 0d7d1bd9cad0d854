// Package gossip discovers which servers of a cluster are alive, without a
// master and with the same small load on each (design document "Reduction
// Network Discovery", here called the seed).
//
// In every gossip cycle a participant sends the ages of all participants, as
// far as it knows them, to another one that it draws at random; that answers
// with what it knows better. An age is the number of cycles since a
// participant was last heard of, by whatever way. News reaches everybody in
// about log2 N cycles, and whoever has not been heard of for longer than a
// limit is dead.
//
// [Machine] is the protocol: a machine.Machine that knows no clock and no
// network. [Agent] lets an LNet node take part: it is a user of package
// portals like any other.
//
// # Where this is not the letter of the seed
//
// Read literally the seed's rules declare live nodes dead and let a node that
// was paused bring dead ones back. [Config].Strict keeps to the letter of
// what is marked with *; all else is common to both.
//
//	limit of death *       2⌈log2 N⌉ + 4 + fudge cycles, at least 16: an age
//	                       rises by one per cycle and by one per hop
//	life after death *     only at some cycles less: not all find a death in
//	                       the same cycle, and the last have no news of a return
//	obsolete messages *    4⌈log2 N⌉ units of the clock, at least 40: the clock
//	                       makes four to six units per cycle
//	clocks ahead           are believed when two participants agree, see step.go:
//	                       one message must not lead a node away from the others
//	only obsolete ones     from the majority set the clock back to theirs
//	speed of the clock     at most 8 units per cycle from messages in step
//	second partner *       where the first one is probably dead, see partner.go
//	other parameters *     stop the newcomer that has them, not the cluster
//	pauses *               missed cycles are noticed, see pause.go
//	order on receipt       form, parameters, obsolete, clock, ages, reply
//	initial ages           255, "never heard"; known ages stop at 254
//	silence after a start  until everybody has noticed the death (seed 000,
//	                       Design Notes), so that a restart is never missed
//	list of participants   can change while the cluster runs, see roll.go
//
// # Messages
//
// Package gossip/wire describes them. With [Config].Keys they are signed; others are
// dropped.
//
// # Bounds
//
// A machine needs a byte per participant for the age, a few bits for its
// health, and memory for those that have died at least once. Nothing that
// arrives makes it grow.
package gossip
