package engine

import "time"

// A server that cannot save records refuses clients that are not connected to it (StoreFailed).
// The other servers must know that: if all of them drain, the draining servers have to take clients
// nevertheless, since orphans would otherwise find no master and be evicted (see Server.drains). So a
// server reports in its digests that it takes no clients, from the first write that fails until a
// record is durable again. It also takes clients again when it has tried to write nothing for T_orphan, because only
// a client that connects shows whether records can be saved.

// unsaved tells whether this server is unable to save records.
type unsaved struct {
	on   bool          // the latest write whose result is known has failed
	told bool          // the other servers were last told that this server takes no clients
	at   time.Duration // active time of the latest write that failed
}

// wrote records the result of a write.
func (u *unsaved) wrote(s *Server, failed bool) {
	if u.on = failed; failed {
		u.at = s.now
	}
}

// run reports a change to all live servers. It runs once per tick, so that a disk on which every other
// write fails does not cause a report for each write.
func (u *unsaved) run(s *Server) {
	if u.on && s.now-u.at >= s.cfg.Orphan {
		u.on = false
	}
	if u.on == u.told {
		return
	}
	u.told = u.on
	for i := range s.members.list {
		m := &s.members.list[i]
		m.burden.greet = m.burden.greet || int32(i) != s.members.self && s.members.alive(int32(i))
	}
}
