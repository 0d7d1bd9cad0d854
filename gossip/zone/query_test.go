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

// TestAgentQueries: MS-99: a query ends exactly once: when all parts of its answer have come, in whatever order,
// after a timeout if a part is missing, or when the agent stops. Answers to other queries have no effect. The
// number of pending queries is bounded.
func TestAgentQueries(t *testing.T) {
	spec.Covers(t, "MS-99", "MS-110")
	clock := &stubClock{}
	var q queries
	q.init(clock, 1007)
	type result struct {
		calls, members int
		err            error
	}
	ask := func() (uint64, *result) {
		r := new(result)
		n := q.begin(func(list []Named, err error) { r.calls, r.members, r.err = r.calls+1, len(list), err })
		return n, r
	}
	want := func(what string, r *result, calls, members int, err error) {
		t.Helper()
		if r.calls != calls || r.members != members || !errors.Is(r.err, err) {
			t.Errorf("%s: %+v", what, *r)
		}
	}
	some := func(from, to int) (list []Named) {
		for i := from; i < to; i++ {
			list = append(list, Named{ID: nth(i)})
		}
		return list
	}

	n, r := ask()
	if n <= 1000 {
		t.Errorf("number %d can be guessed", n)
	}
	q.listed(&Event{Number: n + 1, Size: 5, Members: some(0, 5)})
	q.listed(&Event{Number: n, Size: 5, Members: some(3, 5)})
	want("the last part alone", r, 0, 0, nil)
	q.listed(&Event{Number: n, Size: 5, Members: some(3, 5)})
	want("a part twice", r, 0, 0, nil)
	q.listed(&Event{Number: n, Size: 5, Members: some(0, 2), More: true})
	q.listed(&Event{Number: n, Size: 5, Members: some(2, 3), More: true})
	want("all parts", r, 1, 5, nil)
	q.listed(&Event{Number: n, Size: 3, Members: some(0, 3)})
	clock.timers[0]()
	want("answered again, and late", r, 1, 5, nil)

	n, r = ask()
	q.listed(&Event{Number: n})
	want("a zone of which no member is known", r, 1, 0, nil)

	n, r = ask()
	q.listed(&Event{Number: n, Unknown: true})
	want("no such zone", r, 1, 0, ErrUnguarded)

	n, r = ask()
	q.listed(&Event{Number: n, Size: 4, Members: some(0, 2), More: true})
	clock.timers[3]()
	want("no answer in time", r, 1, 0, ErrNoAnswer)
	if !strings.Contains(r.err.Error(), "only 2 of 4 members") {
		t.Error(r.err)
	}

	n, r = ask()
	q.listed(&Event{Number: n, Size: maxListed + 2, Members: make([]Named, maxListed), More: true})
	want("a large zone", r, 0, 0, nil)
	q.listed(&Event{Number: n, Size: maxListed + 2, Members: some(0, 1), More: true})
	want("an answer that does not end", r, 1, 0, ErrNoAnswer)

	var open []*result
	for range maxQueries {
		_, r := ask()
		open = append(open, r)
	}
	if n, _ := ask(); n != 0 {
		t.Error("there is no bound")
	}
	q.close()
	for _, r := range open {
		want("a stop", r, 1, 0, ErrNotJoined)
	}
	if n, _ := ask(); n != 0 {
		t.Error("a question after the stop")
	}
}
