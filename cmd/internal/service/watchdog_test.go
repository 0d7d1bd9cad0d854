package service

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd/lndtest/spec"
)

// watched is a Manager with a watchdog of 10 s, whose messages are recorded with their times.
type watched struct {
	Manager
	began time.Time

	mu  sync.Mutex
	at  []time.Duration // times of the messages; guarded by mu
	out bytes.Buffer    // the log so far; guarded by mu
}

// Write implements io.Writer, for the log.
func (w *watched) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(b)
}

// messages returns the times of the messages so far.
func (w *watched) messages() []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.at)
}

// text returns the log so far.
func (w *watched) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.String()
}

func newWatched(t *testing.T) *watched {
	w := &watched{began: time.Now()}
	w.Manager = Manager{watchdog: 10 * time.Second, log: slog.New(slog.NewTextHandler(w, nil)), send: func(state string) error {
		if state != "WATCHDOG=1" {
			t.Errorf("message %q", state)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.at = append(w.at, time.Since(w.began))
		return nil
	}}
	return w
}

// TestWatch: the manager gets a message twice in the time of its watchdog.
func TestWatch(t *testing.T) {
	spec.Covers(t, "OP-2")
	synctest.Test(t, func(t *testing.T) {
		w := newWatched(t)
		stop := w.Watch(func(context.Context) error { return nil })
		time.Sleep(16 * time.Second)
		stop()
		if len(w.messages()) != 4 || w.messages()[3] != 15*time.Second {
			t.Errorf("messages at %v", w.messages())
		}
		if w.text() != "" {
			t.Error(w.text())
		}
	})
}

// TestWatchStops: there are no messages while the probe hangs or fails, one line in the log, and
// messages again when it answers.
func TestWatchStops(t *testing.T) {
	spec.Covers(t, "OP-2")
	for name, probe := range map[string]func(ctx context.Context, until time.Time) error{
		"hangs": func(_ context.Context, until time.Time) error { time.Sleep(time.Until(until)); return nil },
		"fails": func(_ context.Context, until time.Time) error {
			if time.Now().Before(until) {
				return errors.New("no timer expires")
			}
			return nil
		},
		"is slow": func(ctx context.Context, until time.Time) error {
			if time.Now().Before(until) {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWatched(t)
				until := w.began.Add(time.Minute)
				stop := w.Watch(func(ctx context.Context) error { return probe(ctx, until) })
				time.Sleep(59 * time.Second)
				synctest.Wait()
				if len(w.messages()) > 0 {
					t.Errorf("messages at %v from a node that does not answer", w.messages())
				}
				if n := strings.Count(w.text(), "does not answer"); n != 1 {
					t.Errorf("%d lines in the log: %s", n, w.text())
				}
				time.Sleep(12 * time.Second)
				stop()
				if len(w.messages()) < 2 || !strings.Contains(w.text(), "answers the watchdog again") {
					t.Errorf("messages at %v, log %s", w.messages(), w.text())
				}
			})
		})
	}
}

// TestWatchEnds: stop does not wait for a probe that hangs.
func TestWatchEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatched(t)
		release := make(chan struct{})
		stop := w.Watch(func(context.Context) error { <-release; return nil })
		time.Sleep(time.Second)
		stop()
		if took := time.Since(w.began); took > time.Second {
			t.Errorf("stop took until %v", took)
		}
		close(release)
	})
}
