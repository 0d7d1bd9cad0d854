package zone

import (
	"errors"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/machine"
)

// stubClock keeps timers for the test to run.
type stubClock struct {
	machine.Clock
	timers []func()
}

type stubTimer struct{}

func (stubTimer) Stop() bool { return true }

func (c *stubClock) AfterFunc(d time.Duration, f func()) machine.Timer {
	if d == queryTimeout {
		c.timers = append(c.timers, f)
	}
	return stubTimer{}
}

// answered says how a query ended: how often its callback was called, and with what.
type answered struct {
	calls, members int
	err            error
}

// ask begins a query.
func (q *queries) ask() (uint64, *answered) {
	r := new(answered)
	n := q.begin(func(list []Named, err error) { r.calls, r.members, r.err = r.calls+1, len(list), err })
	return n, r
}

// want compares how a query ended.
func (r *answered) want(t *testing.T, what string, calls, members int, err error) {
	t.Helper()
	if r.calls != calls || r.members != members || !errors.Is(r.err, err) {
		t.Errorf("%s: %+v", what, *r)
	}
}

// TestAgentQueries: MS-99: a query ends exactly once: when all parts of its answer have come, in whatever order,
// or after a timeout if a part is missing. Answers to other queries have no effect.
func TestAgentQueries(t *testing.T) {
	spec.Covers(t, "MS-99")
	clock := &stubClock{}
	var q queries
	q.init(clock, 1007)
	some := func(from, to int) (list []Named) {
		for i := from; i < to; i++ {
			list = append(list, Named{ID: nth(i)})
		}
		return list
	}

	n, r := q.ask()
	if n <= 1000 {
		t.Errorf("number %d can be guessed", n)
	}
	q.listed(&Event{Number: n + 1, Size: 5, Members: some(0, 5)})
	q.listed(&Event{Number: n, Size: 5, Members: some(3, 5)})
	r.want(t, "the last part alone", 0, 0, nil)
	q.listed(&Event{Number: n, Size: 5, Members: some(3, 5)})
	r.want(t, "a part twice", 0, 0, nil)
	q.listed(&Event{Number: n, Size: 5, Members: some(0, 2), More: true})
	q.listed(&Event{Number: n, Size: 5, Members: some(2, 3), More: true})
	r.want(t, "all parts", 1, 5, nil)
	q.listed(&Event{Number: n, Size: 3, Members: some(0, 3)})
	clock.timers[0]()
	r.want(t, "answered again, and late", 1, 5, nil)

	n, r = q.ask()
	q.listed(&Event{Number: n})
	r.want(t, "a zone of which no member is known", 1, 0, nil)

	n, r = q.ask()
	q.listed(&Event{Number: n, Unknown: true})
	r.want(t, "no such zone", 1, 0, ErrUnguarded)

	n, r = q.ask()
	q.listed(&Event{Number: n, Size: 4, Members: some(0, 2), More: true})
	clock.timers[3]()
	r.want(t, "no answer in time", 1, 0, ErrNoAnswer)
	if !strings.Contains(r.err.Error(), "only 2 of 4 members") {
		t.Error(r.err)
	}

	n, r = q.ask()
	q.listed(&Event{Number: n, Size: maxListed + 2, Members: make([]Named, maxListed), More: true})
	r.want(t, "a large zone", 0, 0, nil)
	q.listed(&Event{Number: n, Size: maxListed + 2, Members: some(0, 1), More: true})
	r.want(t, "an answer that does not end", 1, 0, ErrNoAnswer)
}

// TestAgentQueriesBounded: MS-110: the number of pending queries is bounded. A query ends when the agent stops.
func TestAgentQueriesBounded(t *testing.T) {
	spec.Covers(t, "MS-110")
	var q queries
	q.init(&stubClock{}, 1007)
	var open []*answered
	for range maxQueries {
		_, r := q.ask()
		open = append(open, r)
	}
	if n, _ := q.ask(); n != 0 {
		t.Error("there is no bound")
	}
	q.close()
	for _, r := range open {
		r.want(t, "a stop", 1, 0, ErrNotJoined)
	}
	if n, _ := q.ask(); n != 0 {
		t.Error("a question after the stop")
	}
}
