package health

import (
	"slices"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// Buried returns the highest incarnation of a client that must not connect here again;
// false if there is none.
func (a *ServerAgent) Buried(id ClientID) (incarnation uint64, ok bool) {
	a.runner.Inspect(func() { incarnation, ok = a.m.Buried(id) })
	return incarnation, ok
}

// Draining lists the other live servers that drain, as far as this one knows.
func (a *ServerAgent) Draining() (list []nid.NID) {
	a.runner.Inspect(func() { list, _ = a.m.LastWilling() })
	return list
}

// Eviction tells about an eviction that this server makes; false if there is none of the
// client that some server has not answered.
func (a *ServerAgent) Eviction(id ClientID) (st EvictionStatus, ok bool) {
	a.runner.Inspect(func() { st, ok = a.m.Eviction(id) })
	return st, ok
}

// Clients lists the clients by their ids.
func (a *ServerAgent) Clients() (list []ClientInfo) {
	a.runner.Inspect(func() { list = a.m.Clients() })
	return list
}

// List lists the first clients that match, by their ids, at most limit of them, and
// counts all that do. Nothing else happens meanwhile: match is quick, and does not
// call the agent.
func (a *ServerAgent) List(limit int, match func(*ClientInfo) bool) (list []ClientInfo, matching int) {
	a.runner.Inspect(func() { list, matching = a.m.List(limit, match) })
	return list, matching
}

// Masters returns how many clients each server is the master of.
func (a *ServerAgent) Masters() (of map[nid.NID]int) {
	a.runner.Inspect(func() { of = a.m.Masters() })
	return of
}

// Client tells about one client; false if it is not connected.
func (a *ServerAgent) Client(id ClientID) (info ClientInfo, ok bool) {
	a.runner.Inspect(func() { info, ok = a.m.Client(id) })
	return info, ok
}

// Status returns the state.
func (a *ServerAgent) Status() (s ServerStatus) {
	a.runner.Inspect(func() { s = a.m.Status() })
	return s
}

// Quorum reports whether this server has a quorum, which is quicker than Status.
func (a *ServerAgent) Quorum() (have bool) {
	a.runner.Inspect(func() { have = a.m.Quorum() })
	return have
}

// Stats returns the counters.
func (a *ServerAgent) Stats() (s ServerStats) {
	a.runner.Inspect(func() { s = a.m.Stats() })
	return s
}

// Tombstones lists the latest limit tombstones that match, the oldest of them first, and
// counts all that do. There may be a million: messages are served in between, so that a
// tombstone that comes or goes meanwhile may be in the list or not. match is quick, and
// does not call the agent.
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
