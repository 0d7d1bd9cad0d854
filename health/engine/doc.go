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
//	incarnations       Connects and evictions carry the number of the client's
//	                   incarnation, so that a late eviction does not end the next one
//	epochs             A client numbers its choices of a master: older ones are ignored
//	orphans            An orphan is notified after a third of T_orphan and chooses again,
//	                   perhaps the same master, so that a master that was paused or
//	                   restarted quickly loses no client
//	orphans evicted    An orphan that is evicted is told GLOBAL: if it does not name a new
//	                   master within T_orphan, the servers that know of none evict it,
//	                   and so do all other servers
//	loss of quorum     A server must lack the quorum for Timing.Quorum before it evicts
//	                   its clients
//	tombstones         Evictions are remembered, so that a connect that was in
//	                   flight does not bring the client back
//	evictions          An eviction is not final while a majority of the servers does not
//	                   know of it: the master may be in a minority partition that
//	                   discovery has not detected yet. The master withdraws it when
//	                   another server names a later master. A server that loses its
//	                   quorum drops recent tombstones. For 2·T_evict a client that shows
//	                   a later choice is told to come back, instead of GLOBAL
//	read repair        A server that wins the quorum asks the other servers for tombstones
//	                   before it accepts clients, for T_bcast at most: without this, a
//	                   client that was cut off with it would stay connected to some
//	                   servers. A server that learns of an orphan's tombstone tells
//	                   servers that have asked before. A tombstone that belongs to an
//	                   earlier choice than the client's present one counts only if more
//	                   than half of the servers have it
//	later choices      A server obeys an eviction by a master that the client has chosen
//	                   after the one that the server knows
//	digests            A server asks each master whether it knows the clients that the
//	                   server has recorded as the master's
//	load               A master that has far more clients than another server, as after
//	                   that server's restart, asks some of them to choose that server
//	times              Connects and answers carry the time-outs: a client that would be
//	                   evicted although it is healthy, because the server's T_evict is too
//	                   short for it, is refused
//	pauses             The time of a server's own pause does not count
//
// # Bounds
//
// A server takes Config.MaxClients clients at fewer than 200 bytes each besides their names;
// every other table has a bound and a refusal with a reason.
package engine
