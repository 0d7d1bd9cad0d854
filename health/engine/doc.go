// Package engine has the protocol machines of client health, one for a server and one for a
// client. Their messages and events are a function of the time and of the messages that arrive
// (design document "Client Health and Global Eviction", here called the design). Programs use
// package health, whose agents step the machines. This package is for simulators and for
// research on the protocol, which step machines themselves.
//
// This package is unstable: names and fields change without notice. The format of messages is
// stable, see package health/wire.
//
//	s, err := engine.NewServer(cfg)
//	wake := s.Step(now, engine.ServerInput{Kind: engine.ServerTimer}, &out) // then carry out out.Effects
//	wake = s.Step(now, engine.ServerInput{Kind: engine.Arrived, From: from, Data: b}, &out)
//	wake = s.Step(wake, engine.ServerInput{Kind: engine.ServerTimer}, &out) // when the clock reaches wake
//
// # Where this differs from the design
//
//	incarnations       connects and evictions carry the number of the client's
//	                   incarnation, so that a late eviction does not end the next one
//	epochs             choices of a master are numbered: older ones are ignored
//	orphans            are notified after a third of T_orphan and choose again,
//	                   perhaps the same master, so that a master that was paused or
//	                   restarted quickly loses no client
//	orphans evicted    are told GLOBAL: a client that did not name a new master in
//	                   time is evicted by all servers that did not learn of one,
//	                   and so by the rest, too
//	loss of quorum     must last for Timing.Quorum before clients are evicted
//	tombstones         evictions are remembered, so that a connect that was in
//	                   flight does not bring the client back
//	evictions          of which a majority of servers does not know are not final: the
//	                   master may be in a minority partition that discovery has not
//	                   detected yet. It withdraws them when other servers name a later
//	                   master; a server that loses its quorum drops recent tombstones;
//	                   and for 2·T_evict a client that shows a later choice is told to
//	                   come back, instead of GLOBAL
//	read repair        a server that wins the quorum asks the others for tombstones
//	                   before it accepts clients, for T_bcast at most: otherwise a
//	                   client that was cut off with it would stay connected to some
//	                   servers. A server that learns of an orphan's tombstone tells
//	                   servers that have asked before. A tombstone of an earlier choice
//	                   than the present one counts if most servers have it
//	later choices      a server obeys an eviction by a master that the client has chosen
//	                   after the one that the server knows
//	digests            servers ask masters whether they know the clients that are
//	                   held under them
//	load               a master that has far more clients than another, as after the
//	                   other's restart, asks some of them to choose that one
//	times              are told in connects and answers: a client that would be evicted
//	                   although it is healthy, because T_evict is too short, is refused
//	pauses             time in which a server itself stood still does not count
//
// # Bounds
//
// A server takes Config.MaxClients clients at fewer than 200 bytes each besides their names;
// every other table has a bound and a refusal with a reason.
package engine
