package zone

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"ulnet/gossip/zone/engine"
	"ulnet/lnet/machine"
)

const (
	queryTimeout = 5 * time.Second
	maxQueries   = 64
	maxListed    = 1 << 20 // bound of the members in an answer, and the highest Config.MaxMembers; a longer answer is not accepted
)

// queries are the pending queries for members of base zones.
type queries struct {
	clock  machine.Clock
	idle   chan struct{} // closed once close was called, no query is pending, and no query's function is being called
	mu     sync.Mutex
	last   uint64 // number of the latest query; guarded by mu, like all below
	open   map[uint64]*query
	calls  int // number of functions of queries that are being called
	closed bool
}

type query struct {
	done    func([]Named, error)
	members []Named
	size    int // number of members of the zone
	timer   machine.Timer
}

// init begins with a number that other nodes cannot guess, and that no earlier agent used.
func (q *queries) init(clock machine.Clock, secret uint64) {
	q.clock, q.idle, q.open, q.last = clock, make(chan struct{}), make(map[uint64]*query), secret
}

// Query asks for the members of a base zone; only members of the management zone can do that
// (MS-99). done is called once, perhaps before Query returns. Its error is [ErrNotJoined], [ErrUnguarded], or
// [ErrNoAnswer], or wraps ErrNoAnswer. ErrNoAnswer comes after 5 s if no answer has come, or only a part of one,
// or if the supervisor does not know all members, because the zone has more than the supervisor's
// [Config.MaxMembers], or because a change of the zone was lost and the supervisor waits for the right list. It comes
// at once if very many queries are pending. done must not block, nor call [Agent.Close].
func (a *Agent) Query(zone string, done func(members []Named, err error)) {
	if !a.Joined() { // a node that has not joined gets no answer
		done(nil, ErrNotJoined)
		return
	}
	n := a.queries.begin(done)
	if n == 0 {
		done(nil, ErrNoAnswer)
		return
	}
	a.runner.Do(engine.AddressedInput{Input: engine.Input{Kind: engine.QueryZone, Key: zone, Number: n}})
}

// begin returns the number of a new query, 0 if too many are pending.
func (q *queries) begin(done func([]Named, error)) uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.open) >= maxQueries {
		return 0
	}
	q.last++
	n := q.last
	q.open[n] = &query{done: done, timer: q.clock.AfterFunc(queryTimeout, func() { q.end(n, ErrNoAnswer) })}
	return n
}

// listed processes an answer to a query, or a part of one.
func (q *queries) listed(e *Event) {
	q.mu.Lock()
	one, all, endless := q.open[e.Number], false, false
	if one != nil {
		all = one.add(e)
		endless = len(one.members) > maxListed
	}
	q.mu.Unlock()
	switch {
	case endless:
		q.end(e.Number, ErrNoAnswer)
	case one == nil:
	case e.Unknown:
		q.end(e.Number, ErrUnguarded)
	case all:
		q.end(e.Number, nil)
	}
}

// add adds a part of the answer, and reports whether the answer is complete. Parts may arrive in a different order
// than they were sent, or twice.
func (one *query) add(e *Event) bool {
	one.members, one.size = append(one.members, e.Members...), e.Size
	if len(one.members) < e.Size {
		return false
	}
	slices.SortFunc(one.members, func(a, b Named) int { return a.ID.Compare(b.ID) })
	one.members = slices.CompactFunc(one.members, func(a, b Named) bool { return a.ID == b.ID })
	return len(one.members) >= e.Size
}

// end calls the function of a query, unless the query has ended already.
func (q *queries) end(n uint64, err error) {
	one := q.take(n)
	if one == nil {
		return
	}
	one.timer.Stop()
	if errors.Is(err, ErrNoAnswer) && len(one.members) > 0 {
		err = fmt.Errorf("%w: only %d of %d members have come, or the supervisor has to correct its list of them", err, min(len(one.members), one.size), one.size)
	}
	if err != nil {
		one.members = nil
	}
	one.done(one.members, err)
	q.mu.Lock()
	q.calls--
	q.rest()
	q.mu.Unlock()
}

// take removes a pending query whose function is called next, and counts that call. It returns nil if
// the query is not pending.
func (q *queries) take(n uint64) *query {
	q.mu.Lock()
	defer q.mu.Unlock()
	one := q.open[n]
	if one != nil {
		delete(q.open, n)
		q.calls++
	}
	return one
}

// rest closes idle when nothing is left to be called after close. The caller holds q.mu.
func (q *queries) rest() {
	if q.closed && q.calls == 0 && len(q.open) == 0 {
		close(q.idle)
	}
}

// close ends all pending queries.
func (q *queries) close() {
	q.mu.Lock()
	q.closed = true
	numbers := slices.Sorted(maps.Keys(q.open))
	q.rest()
	q.mu.Unlock()
	for _, n := range numbers {
		q.end(n, ErrNotJoined)
	}
}
