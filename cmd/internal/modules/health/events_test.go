package health

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"ulnet/health"
)

// slowLog is a log that writes one line for each value sent to tokens, and all further lines once tokens is closed.
type slowLog struct {
	slog.Handler
	tokens chan struct{}

	mu    sync.Mutex
	lines []Event // the lines written so far, with only Incarnation and Missed set; guarded by mu
}

func (*slowLog) Enabled(context.Context, slog.Level) bool { return true }

func (l *slowLog) Handle(_ context.Context, r slog.Record) error {
	<-l.tokens
	var e Event
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "incarnation":
			e.Incarnation = a.Value.Uint64()
		case "missed":
			e.Missed = a.Value.Uint64()
		}
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, e)
	return nil
}

func (l *slowLog) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.lines)
}

// TestHealthEventFlood: the queue of events is bounded. Each gap is reported where it occurs,
// even at the end.
func TestHealthEventFlood(t *testing.T) {
	l, told := &slowLog{tokens: make(chan struct{})}, uint64(0)
	e := startEvents(slog.New(l), func(*Event) { told++ })
	next := uint64(0)
	report := func(n int) {
		for range n {
			next++
			e.ofServer(health.Event{Kind: health.ClientEvicted, Incarnation: next})
		}
	}
	report(1)
	await(t, "the first event at the log", func() bool { return len(e.queue) == 0 })
	report(keptEvents + 7)
	l.tokens <- struct{}{} // allows the log to write the first event
	l.tokens <- struct{}{} // allows the second one, so that the queue has room again
	await(t, "a place", func() bool { return l.count() == 2 && len(e.queue) < keptEvents })
	report(keptEvents - len(e.queue) + 5)
	close(l.tokens)
	e.close()
	at := uint64(0)
	for i, line := range l.lines {
		if at += line.Missed; line.Incarnation != 0 {
			at++
		}
		if line.Incarnation != at && (line.Incarnation != 0 || i != len(l.lines)-1) {
			t.Fatalf("line %d is event %d with %d missed before it, but %d are accounted for", i, line.Incarnation, line.Missed, at)
		}
	}
	if told != next {
		t.Errorf("handlers are told of %d of %d events", told, next)
	}
	if at != next || len(l.lines) <= keptEvents {
		t.Errorf("%d of %d events in %d lines", at, next, len(l.lines))
	}
}
