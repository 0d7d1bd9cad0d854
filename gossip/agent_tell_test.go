package gossip

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"ulnet/gossip/internal/watch"
	"ulnet/gossip/wire"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// TestAgentLog: a log line begins with the Lamport clock of the node and, if a message caused the
// event, the clock of that message. The agent logs each change of a participant's health, and no
// change of ages. A participant with other parameters and the loss of the quorum are logged at level
// ERROR (GO-62, GO-63).
func TestAgentLog(t *testing.T) {
	spec.Covers(t, "GO-62", "GO-63")
	const n = 8
	s := newStation(t, n, testNIDs(n)[0])
	var events []Event
	s.start(func(cfg *Config) { cfg.Notify = func(e Event) { events = append(events, e) } })
	for range 30 {
		s.clock.advance(interval)
		s.arrive(s.list.NID(5), wire.PingBits, s.ping(5))
	}
	bad := s.ping(4)
	bad[wire.HeaderSize+4]++
	s.arrive(s.list.NID(4), wire.PingBits, bad)
	for range 20 {
		s.clock.advance(interval)
	}
	var alive, died, errors int
	line := regexp.MustCompile(`^time=\S+ level=(\w+) msg="\[(\d+)(, \d+)?\] ([^"]+)"(.*)$`)
	for text := range strings.Lines(strings.TrimSpace(s.log.String())) {
		m := line.FindStringSubmatch(strings.TrimSpace(text))
		if m == nil {
			t.Fatalf("log line %q", text)
		}
		switch {
		case m[1] == "ERROR":
			errors++
		case m[4] == "participant is alive" && m[3] != "" && strings.Contains(m[5], "nid=10.0.0."):
			alive++
		case m[4] == "participant died" && m[3] == "" && strings.Contains(m[5], "nid=10.0.0."):
			died++
		}
	}
	if alive != n-1 || died != n-1 || errors != 2 { // two of the events are errors: other parameters, and a lost quorum
		t.Errorf("%d lives, %d deaths and %d errors in\n%s", alive, died, errors, &s.log)
	}
	if h := s.agent.History(); len(h) != strings.Count(s.log.String(), "\n") {
		t.Errorf("%d events in the history, %d in the log", len(h), strings.Count(s.log.String(), "\n"))
	} else if !slices.Equal(h, events) {
		t.Errorf("Config.Notify is told %v, the history has %v", events, h)
	}
}

// TestWatchCoalesces: a callback that blocks does not delay other callbacks. In the end it gets
// the latest state of each participant, with the aliveness: no change is lost.
func TestWatchCoalesces(t *testing.T) {
	spec.Covers(t, "GO-82")
	const n = 300
	var w watch.Watchers[change]
	w.Init(machine.RealClock())
	ids := testNIDs(n)
	entered, release := make(chan struct{}, 1), make(chan struct{})
	slow, fast := newTold(n), newTold(n)
	block := sync.OnceFunc(func() { entered <- struct{}{}; <-release })
	add := func(f func(change)) { w.Add(f, &changes{latest: make(map[nid.NID]state)}, func(func(change)) {}) }
	add(func(c change) { block(); slow.hear(c.nid, c.alive, c.aliveness) })
	add(func(c change) { fast.hear(c.nid, c.alive, c.aliveness) })
	w.Tell(change{ids[0], state{true, 0}})
	<-entered
	for round := range uint64(50) {
		for _, id := range ids {
			w.Tell(change{id, state{false, round + 1}})
			w.Tell(change{id, state{true, round + 1}})
		}
	}
	for _, id := range ids {
		w.Tell(change{id, state{false, 51}})
	}
	<-fast.all // the fast watcher is called while the other one is blocked
	close(release)
	<-slow.all
	if slow.calls != n+1 {
		t.Errorf("told %d times, want once for each of %d and the one before", slow.calls, n)
	}
	if fast.backwards || slow.backwards {
		t.Error("an older state was told after a newer one")
	}
}

// told records the calls of a function that is given to Watch.
type told struct {
	latest    map[nid.NID]uint64
	calls     int
	last      int // number of participants whose 51st death, the last one, was reported
	want      int
	backwards bool
	all       chan struct{} // closed when the function has been called for each participant
}

func newTold(n int) *told {
	return &told{latest: make(map[nid.NID]uint64), want: n, all: make(chan struct{})}
}

func (w *told) hear(id nid.NID, alive bool, aliveness uint64) {
	w.calls++
	w.backwards = w.backwards || aliveness < w.latest[id]
	w.latest[id] = aliveness
	if !alive && aliveness == 51 {
		if w.last++; w.last == w.want {
			close(w.all)
		}
	}
}

// TestWatchStops: a stopped watcher is not called any more, a watcher that begins late is
// called for all live participants, and callbacks may call the agent.
func TestWatchStops(t *testing.T) {
	const n = 8
	s := newStation(t, n, testNIDs(n)[0])
	s.start(nil)
	var early, late []nid.NID
	stop := s.agent.Watch(func(id nid.NID, _ bool, _ uint64) { early = append(early, id) })
	s.clock.advance(interval)
	stop()
	early = nil
	s.arrive(s.list.NID(5), wire.PingBits, s.ping(5))
	s.agent.Watch(func(id nid.NID, alive bool, aliveness uint64) {
		if got, times := s.agent.Alive(id); got != alive || times != aliveness {
			t.Errorf("%v: told %v %d, asked %v %d", id, alive, aliveness, got, times)
		}
		late = append(late, id)
	})
	s.clock.advance(1)
	if len(early) != 0 || !slices.Equal(late, testNIDs(n)) {
		t.Errorf("told %v after the stop, %v at the beginning", early, late)
	}
	s.stop()
	s.clock.advance(100 * interval)
	if len(late) != n {
		t.Error("told of changes after the agent stopped")
	}
}

// TestCloseWaits: Close waits for a function of Watch that is being called, at most until its
// context ends, and then returns an error; the function is not called again.
func TestCloseWaits(t *testing.T) {
	spec.Covers(t, "GO-82")
	s := newStation(t, 2, testNIDs(2)[0])
	s.start(nil)
	calls, entered, release := 0, make(chan struct{}), make(chan struct{})
	s.agent.Watch(func(nid.NID, bool, uint64) {
		if calls++; calls == 1 {
			close(entered)
			<-release
		}
	})
	over := make(chan struct{})
	go func() { s.clock.advance(1); close(over) }()
	<-entered
	s.arrive(s.list.NID(1), wire.PingBits, s.ping(1)) // this ping causes another change to report
	why := errors.New("no patience")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := s.agent.Close(ctx); !errors.Is(err, why) {
		t.Errorf("Close returns %v while a function is being called", err)
	}
	close(release)
	if err := s.agent.Close(t.Context()); err != nil {
		t.Error(err)
	}
	<-over
	if calls != 1 {
		t.Errorf("called %d times, the last ones after Close", calls)
	}
}

// TestAgentChangesList: the error of a refused change says why; a change waits for the live
// participants that have not staged it (GO-A21).
func TestAgentChangesList(t *testing.T) {
	spec.Covers(t, "GO-A21")
	const n = 4
	s := newStation(t, n, testNIDs(n)[0])
	s.start(func(c *Config) { c.Trace = true })
	a := s.agent
	s.clock.advance(interval)
	s.arrive(s.list.NID(2), wire.PingBits, s.ping(2))
	if e, ok := a.Explain(s.list.NID(3)); !ok || !e.Heard || e.Via != s.list.NID(2) || e.AgeThen != 2 || e.Age != 2 || e.Threshold != 16 {
		t.Errorf("explained: %+v", e)
	}
	next := testList(t, n+2)
	for _, err := range []error{a.Commit(), a.Cancel(), a.CommitAnyway(), a.Stage(s.list.NIDs())} {
		if !refused(err) {
			t.Errorf("got %v, want an *Error", err)
		}
	}
	if err := a.Stage(next.NIDs()); err != nil {
		t.Fatal(err)
	}
	err := a.Commit()
	if e, ok := errors.AsType[*Error](err); !ok || !slices.Equal(e.NIDs, s.list.NIDs()[1:]) {
		t.Errorf("%v names not those who are missing", err)
	}
	want := "gossip: not known to have staged the list: 10.0.0.2@tcp, 10.0.0.3@tcp, 10.0.0.4@tcp"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	staged := wire.Header{
		Flags: wire.FlagParams | wire.FlagStaged, N: n, Clock: a.Status().Clock, Interval: interval,
		Digest: s.list.Digest(), Staged: next.Digest(),
	}
	for i := 1; i < n; i++ {
		s.arrive(s.list.NID(i), wire.PingBits, append(staged.AppendTo(nil), young(n, i)...))
	}
	if err := a.Commit(); err != nil {
		t.Fatal(err)
	}
	if s := a.RollStatus(); !s.Committed || s.N != n+2 || a.Status().N != n+2 || len(s.Members) != n+2 {
		t.Errorf("status %+v", s)
	}
	if err := a.Stage(s.list.NIDs()); !refused(err) || !strings.Contains(err.Error(), "not over") {
		t.Errorf("got %v before the change is over", err)
	}
}
