// Package engine has the machines of client health: what a server and a client send, believe
// and tell, as a function of the time and of what arrives (design document "Client Health and
// Global Eviction", here called the seed). Programs use package health, whose agents step
// machines for them. They are here for who steps them himself: simulators, and research on
// the protocol.
//
// This package is unstable: names and fields change with the protocol's needs, without
// notice. What is sent does not, see package health/wire.
//
//	s, err := engine.NewServer(cfg)
//	wake := s.Step(now, engine.ServerInput{}, &out) // then do out.Effects
//	wake = s.Step(now, engine.ServerInput{Kind: engine.Arrived, From: from, Data: b}, &out)
//	wake = s.Step(wake, engine.ServerInput{}, &out) // when it is time
//
// # Where this is not the letter of the seed
//
//	incarnations       connects and evictions carry the number of the client's
//	                   incarnation, so that a late eviction spares the next one
//	epochs             choices of a master are numbered: older ones are ignored
//	orphans            are told so after a third of their time, and choose again,
//	                   perhaps the same master: one that was paused, or restarted
//	                   quickly, loses nobody
//	orphans evicted    are told GLOBAL: who did not find a new master in time is
//	                   evicted by all who did not hear of one, so by the rest too
//	loss of quorum     must last for Timing.Quorum before clients are evicted
//	tombstones         who was evicted is remembered, so that a connect that was
//	                   on its way does not bring it back
//	evictions          of which most servers do not know are not final: a master may be
//	                   cut off before discovery tells it so. It takes them back when
//	                   others name a later master; a server that turns out to be cut off
//	                   forgets those it was told of late; and for 2·T_evict a client that
//	                   shows a later choice is told to come back, instead of GLOBAL
//	tombstones told    who wins the quorum asks the others for tombstones before it accepts
//	                   clients, T_bcast at most: otherwise a client that was cut off
//	                   with it would live on at some servers. Who learns of one of an
//	                   orphan tells those that had asked before; and one of an earlier
//	                   choice than the present one counts if most servers have it
//	later choices      an eviction by a master that the client has chosen after the one
//	                   that a server knows counts there, too
//	digests            servers ask masters whether they know the clients that are
//	                   held under them
//	load               a master that has far more clients than another, as after
//	                   the other's return, asks some to choose that one
//	times              are told in connects and answers: a client that a server would
//	                   evict in good health, for want of a longer T_evict, is refused
//	pauses             time in which a server itself stood still does not count
//
// # Bounds
//
// A server takes Config.MaxClients clients at fewer than 200 bytes each besides
// their names; every other table has a bound and a refusal with a reason.
package engine
