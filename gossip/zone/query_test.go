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
	timers []func() // those that end queries
	again  []func() // those after which queries ask again
}

type stubTimer struct{}

func (stubTimer) Stop() bool { return true }

func (c *stubClock) AfterFunc(d time.Duration, f func()) machine.Timer {
	switch d {
	case queryTimeout:
		c.timers = append(c.timers, f)
	case askInterval:
		c.again = append(c.again, f)
	}
	return stubTimer{}
}

// answered says how a query ended: how often its callback was called, and with what.
type answered struct {
	calls, members int
	err            error
}

// newQueries returns queries whose requests go nowhere.
func newQueries(clock machine.Clock) *queries {
	q := new(queries)
	q.init(clock, 1007, func(string, uint64) {})
	return q
}

// start begins a query, and returns the number of its first request; 0: there is no room for the query.
func (q *queries) start() (uint64, *answered) {
	r := new(answered)
	if !q.begin("rack", func(list []Named, err error) { r.calls, r.members, r.err = r.calls+1, len(list), err }) {
		return 0, r
	}
	return q.last, r
}

// some returns members from one number up to another.
func some(from, to int) (list []Named) {
	for i := from; i < to; i++ {
		list = append(list, Named{ID: nth(i)})
	}
	return list
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
	q := newQueries(clock)

	n, r := q.start()
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

	n, r = q.start()
	q.listed(&Event{Number: n})
	r.want(t, "a zone of which no member is known", 1, 0, nil)

	n, r = q.start()
	q.listed(&Event{Number: n, Unknown: true})
	r.want(t, "no such zone", 1, 0, ErrUnguarded)

	n, r = q.start()
	q.listed(&Event{Number: n, Size: 4, Members: some(0, 2), More: true})
	clock.timers[3]()
	r.want(t, "no answer in time", 1, 0, ErrNoAnswer)
	if !strings.Contains(r.err.Error(), "only 2 of 4 members") {
		t.Error(r.err)
	}

	n, r = q.start()
	q.listed(&Event{Number: n, Size: maxListed + 2, Members: make([]Named, maxListed), More: true})
	r.want(t, "a large zone", 0, 0, nil)
	q.listed(&Event{Number: n, Size: maxListed + 2, Members: some(0, 1), More: true})
	r.want(t, "an answer that does not end", 1, 0, ErrNoAnswer)
}

// TestAgentQueriesBounded: MS-110: the number of pending queries is bounded. A query ends when the agent stops.
func TestAgentQueriesBounded(t *testing.T) {
	spec.Covers(t, "MS-110")
	q := newQueries(&stubClock{})
	var open []*answered
	for range maxQueries {
		_, r := q.start()
		open = append(open, r)
	}
	if n, _ := q.start(); n != 0 {
		t.Error("there is no bound")
	}
	q.close()
	for _, r := range open {
		r.want(t, "a stop", 1, 0, ErrNotJoined)
	}
	if n, _ := q.start(); n != 0 {
		t.Error("a question after the stop")
	}
}

// TestAgentQueriesAgain: MS-99: as long as members are missing, a query asks again each second until its timeout. It
// ends as soon as all parts of the answer to one request have come. Answers to different requests are not mixed.
func TestAgentQueriesAgain(t *testing.T) {
	spec.Covers(t, "MS-99")
	clock := &stubClock{}
	var sent []uint64
	q := new(queries)
	q.init(clock, 1007, func(zone string, n uint64) {
		if sent = append(sent, n); zone != "rack" {
			t.Errorf("a request for %q", zone)
		}
	})
	second := func() {
		due := clock.again
		clock.again = nil
		for _, f := range due {
			f()
		}
	}

	n, r := q.start()
	q.listed(&Event{Number: n, Size: 6, Members: some(0, 5)}) // the supervisor has missed that a member joined
	second()
	if len(sent) != 2 || sent[0] == sent[1] {
		t.Fatalf("requests %d", sent)
	}
	q.listed(&Event{Number: sent[1], Size: 6, Members: some(5, 6), More: true})
	r.want(t, "parts of two answers", 0, 0, nil)
	q.listed(&Event{Number: sent[1], Size: 6, Members: some(0, 5)})
	r.want(t, "the right list a second later", 1, 6, nil)
	second()
	if len(sent) != 2 || len(q.open) > 0 {
		t.Errorf("after the end: requests %d, %d open", sent, len(q.open))
	}

	sent = nil
	n, r = q.start()
	second()
	q.listed(&Event{Number: n, Size: 2, Members: some(0, 2)})
	r.want(t, "the answer to the first request after the second request", 1, 2, nil)

	sent = nil
	n, r = q.start()
	second()
	q.listed(&Event{Number: sent[1], Unknown: true}) // the supervisor of the first request has been removed meanwhile
	r.want(t, "no supervisor for the second request", 0, 0, nil)
	q.listed(&Event{Number: n, Size: 2, Members: some(0, 2)})
	r.want(t, "the answer to the first request after that", 1, 2, nil)

	sent = nil
	_, r = q.start()
	second()
	q.listed(&Event{Number: sent[1], Unknown: true})
	clock.timers[3]()
	r.want(t, "no supervisor for the second request, and no other answer", 1, 0, ErrUnguarded)

	sent = nil
	n, r = q.start()
	q.listed(&Event{Number: n, Size: 4, Members: some(0, 3)})
	for range 9 {
		second()
	}
	clock.timers[4]()
	r.want(t, "never all members", 1, 0, ErrNoAnswer)
	if len(sent) != 5 || !strings.Contains(r.err.Error(), "only 3 of 4 members") {
		t.Errorf("%d requests, %v", len(sent), r.err)
	}
}
