package health

import (
	"slices"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// Buried returns the highest incarnation of a client that its tombstone refuses, and false if
// there is no tombstone.
func (a *ServerAgent) Buried(id ClientID) (incarnation uint64, ok bool) {
	a.runner.Inspect(func() { incarnation, ok = a.m.Buried(id) })
	return incarnation, ok
}

// Draining returns the other live servers that drain, as far as this server knows.
func (a *ServerAgent) Draining() (list []nid.NID) {
	a.runner.Inspect(func() { list, _ = a.m.LastWilling() })
	return list
}

// Eviction returns the progress of the eviction of a client. It returns false if this server
// makes none, or if all servers have answered it.
func (a *ServerAgent) Eviction(id ClientID) (st EvictionStatus, ok bool) {
	a.runner.Inspect(func() { st, ok = a.m.Eviction(id) })
	return st, ok
}

// Clients returns all clients, ordered by id.
func (a *ServerAgent) Clients() (list []ClientInfo) {
	a.runner.Inspect(func() { list = a.m.Clients() })
	return list
}

// List returns the first clients, ordered by id, for which match is true, at most limit, and the
// number of all such clients. The agent handles no messages while List runs, so the function
// match must be quick. It must not call the agent.
func (a *ServerAgent) List(limit int, match func(*ClientInfo) bool) (list []ClientInfo, matching int) {
	a.runner.Inspect(func() { list, matching = a.m.List(limit, match) })
	return list, matching
}

// Masters returns how many clients each server is the master of.
func (a *ServerAgent) Masters() (of map[nid.NID]int) {
	a.runner.Inspect(func() { of = a.m.Masters() })
	return of
}

// Client returns what this server knows of a client, and false if the client is not connected.
func (a *ServerAgent) Client(id ClientID) (info ClientInfo, ok bool) {
	a.runner.Inspect(func() { info, ok = a.m.Client(id) })
	return info, ok
}

// Status returns the state.
func (a *ServerAgent) Status() (s ServerStatus) {
	a.runner.Inspect(func() { s = a.m.Status() })
	return s
}

// Quorum reports whether this server has a quorum. It is quicker than Status.
func (a *ServerAgent) Quorum() (have bool) {
	a.runner.Inspect(func() { have = a.m.Quorum() })
	return have
}

// Stats returns the counters.
func (a *ServerAgent) Stats() (s ServerStats) {
	a.runner.Inspect(func() { s = a.m.Stats() })
	return s
}

// Tombstones returns the latest tombstones for which match is true, at most limit, the oldest
// first, and the number of all such tombstones. There may be a million tombstones, so the agent
// handles messages in between. The list may therefore lack tombstones that are added while it is
// made, and contain removed ones. The function match must be quick, and must not call the agent.
func (a *ServerAgent) Tombstones(limit int, match func(*TombstoneInfo) bool) (list []TombstoneInfo, matching int) {
	for until, more := machine.Never, true; more; {
		a.runner.Inspect(func() {
			until, more = a.m.TombstonesBefore(until, func(t *TombstoneInfo) {
				if !match(t) {
					return
				}
				if matching++; len(list) < limit {
					list = append(list, *t)
				}
			})
		})
	}
	slices.Reverse(list)
	return list, matching
}
