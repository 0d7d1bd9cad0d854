package zone

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"ulnet/gossip/zone/engine"
	"ulnet/lnet/machine"
)

const (
	queryTimeout = 5 * time.Second
	askInterval  = time.Second // after this time without all members, a query asks again
	maxQueries   = 64
	maxListed    = 1 << 20 // bound of the members in an answer, and the highest Config.MaxMembers; a longer answer is not accepted
)

// queries are the pending queries for members of base zones.
type queries struct {
	clock   machine.Clock
	send    func(zone string, number uint64) // asks the supervisor of a zone; called without mu, because the answer may come meanwhile
	idle    chan struct{}                    // closed once close was called, no query is pending, and no query's function is being called
	mu      sync.Mutex
	last    uint64              // number of the latest request; guarded by mu, like all below
	open    map[uint64]*listing // the requests of pending queries, by their numbers
	pending []*query            // in the order in which they began
	calls   int                 // number of functions of queries that are being called
	closed  bool
}

// query asks for the members of a zone until it has got all of them.
type query struct {
	zone         string
	done         func([]Named, error)
	asked        []*listing // what has come for each request, in the order of the requests
	ended        bool
	timer, again machine.Timer // when the query fails, and when it asks again
}

// listing is what has come for one request of a query.
type listing struct {
	number  uint64
	query   *query
	members []Named
	size    int  // number of members of the zone
	unknown bool // the answer is that no supervisor guards the zone
}

// init begins with a number that other nodes cannot guess, and that no earlier agent used.
func (q *queries) init(clock machine.Clock, secret uint64, send func(zone string, number uint64)) {
	q.clock, q.send, q.idle, q.open, q.last = clock, send, make(chan struct{}), make(map[uint64]*listing), secret
}

// Query asks for the members of a base zone; only members of the management zone can do that
// (MS-99). done is called once, perhaps before Query returns. As long as some members are missing, the query asks
// again each second. The error is [ErrNotJoined], [ErrUnguarded], or [ErrNoAnswer], or wraps ErrNoAnswer. ErrNoAnswer
// comes after 5 s if no answer has come, or only a part of one, or if the supervisor does not know all members,
// because the zone has more than the supervisor's [Config.MaxMembers], or because a change of the zone was lost and
// the supervisor waits for the right list. It comes at once if very many queries are pending. done must not block, nor
// call [Agent.Close].
func (a *Agent) Query(zone string, done func(members []Named, err error)) {
	switch {
	case !a.Joined(): // a node that has not joined gets no answer
		done(nil, ErrNotJoined)
	case !a.queries.begin(zone, done):
		done(nil, ErrNoAnswer)
	}
}

// request sends one request of a query to the supervisor of the zone.
func (a *Agent) request(zone string, number uint64) {
	a.runner.Do(engine.AddressedInput{Input: engine.Input{Kind: engine.QueryZone, Key: zone, Number: number}})
}

// begin begins a query, and reports whether there is room for it.
func (q *queries) begin(zone string, done func([]Named, error)) bool {
	q.mu.Lock()
	if q.closed || len(q.pending) >= maxQueries {
		q.mu.Unlock()
		return false
	}
	one := &query{zone: zone, done: done}
	q.pending = append(q.pending, one)
	one.timer = q.clock.AfterFunc(queryTimeout, func() { q.end(one, nil, ErrNoAnswer) })
	q.mu.Unlock()
	q.ask(one)
	return true
}

// ask sends a request of a query, and repeats that until the query ends. Each request has a number of its own, so that
// the answers to two requests are not mixed. Answers to earlier requests still count, because they may be slow.
func (q *queries) ask(one *query) {
	q.mu.Lock()
	if one.ended {
		q.mu.Unlock()
		return
	}
	q.last++
	n := q.last
	q.open[n] = &listing{number: n, query: one}
	one.asked = append(one.asked, q.open[n])
	if time.Duration(len(one.asked))*askInterval < queryTimeout {
		one.again = q.clock.AfterFunc(askInterval, func() { q.ask(one) })
	}
	q.mu.Unlock()
	q.send(one.zone, n)
}

// listed processes an answer to a query, or a part of one.
func (q *queries) listed(e *Event) {
	q.mu.Lock()
	l, all, endless, unguarded := q.open[e.Number], false, false, false
	switch {
	case l == nil:
	case e.Unknown:
		l.unknown = true
		unguarded = l.query.unguarded()
	default:
		all = l.add(e)
		endless = len(l.members) > maxListed
	}
	q.mu.Unlock()
	switch {
	case l == nil:
	case endless:
		q.end(l.query, nil, ErrNoAnswer)
	case unguarded:
		q.end(l.query, nil, ErrUnguarded)
	case all:
		q.end(l.query, l.members, nil)
	}
}

// unguarded reports whether the answers to all requests are that no supervisor guards the zone. If only some are, the
// supervisor is changing, and the answer to another request may still come.
func (one *query) unguarded() bool {
	return !slices.ContainsFunc(one.asked, func(l *listing) bool { return !l.unknown })
}

// add adds a part of the answer, and reports whether the answer is complete. Parts may arrive in a different order
// than they were sent, or twice.
func (l *listing) add(e *Event) bool {
	l.members, l.size = append(l.members, e.Members...), e.Size
	if len(l.members) < e.Size {
		return false
	}
	slices.SortFunc(l.members, func(a, b Named) int { return a.ID.Compare(b.ID) })
	l.members = slices.CompactFunc(l.members, func(a, b Named) bool { return a.ID == b.ID })
	return len(l.members) >= e.Size
}

// end calls the function of a query, unless the query has ended already.
func (q *queries) end(one *query, members []Named, err error) {
	if !q.take(one) {
		return
	}
	one.timer.Stop()
	if one.again != nil {
		one.again.Stop()
	}
	if err == ErrNoAnswer {
		err = one.incomplete()
	}
	one.done(members, err)
	q.mu.Lock()
	q.calls--
	q.rest()
	q.mu.Unlock()
}

// incomplete returns the error of a query that did not get all members. If some have come, it says how many in the latest
// answer.
func (one *query) incomplete() error {
	for _, l := range slices.Backward(one.asked) {
		if len(l.members) > 0 {
			return fmt.Errorf("%w: only %d of %d members have come, or the supervisor has to correct its list of them", ErrNoAnswer, min(len(l.members), l.size), l.size)
		}
	}
	if slices.ContainsFunc(one.asked, func(l *listing) bool { return l.unknown }) {
		return ErrUnguarded
	}
	return ErrNoAnswer
}

// take ends a pending query whose function is called next, and counts that call. The result is false if the
// query has already ended.
func (q *queries) take(one *query) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if one.ended {
		return false
	}
	one.ended = true
	for _, l := range one.asked {
		delete(q.open, l.number)
	}
	q.pending = slices.DeleteFunc(q.pending, func(p *query) bool { return p == one })
	q.calls++
	return true
}

// rest closes idle when nothing is left to be called after close. The caller holds q.mu.
func (q *queries) rest() {
	if q.closed && q.calls == 0 && len(q.pending) == 0 {
		close(q.idle)
	}
}

// close ends all pending queries.
func (q *queries) close() {
	q.mu.Lock()
	q.closed = true
	pending := slices.Clone(q.pending)
	q.rest()
	q.mu.Unlock()
	for _, one := range pending {
		q.end(one, nil, ErrNotJoined)
	}
}
