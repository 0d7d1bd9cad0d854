package scoll_test

import (
	"context"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// sliding is a clock whose time only callbacks advance. Its timers run in real time.
type sliding struct {
	machine.Clock
	ahead atomic.Int64
}

func (c *sliding) Now() time.Duration { return time.Second + time.Duration(c.ahead.Load()) }

func (c *sliding) pass(d time.Duration) { c.ahead.Add(int64(d)) }

// warned is a log handler that sends the text of each record about a callback, with its attributes, to the
// channel.
type warned chan string

func (w warned) Enabled(context.Context, slog.Level) bool { return true }
func (w warned) WithAttrs([]slog.Attr) slog.Handler       { return w }
func (w warned) WithGroup(string) slog.Handler            { return w }

func (w warned) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += " " + a.String()
		return true
	})
	if strings.Contains(text, "callback") {
		w <- text
	}
	return nil
}

// next returns the next warning.
func (w warned) next(t *testing.T) string {
	t.Helper()
	select {
	case text := <-w:
		return text
	case <-time.After(60 * time.Second):
		t.Fatal("nothing is logged")
		return ""
	}
}

// TestWatchdog: callbacks that take longer than 100 ms are logged, at most once a minute per
// service. A callback that does not return is logged while it still blocks.
func TestWatchdog(t *testing.T) {
	clock, log := &sliding{Clock: machine.RealClock()}, make(warned, 64)
	w := newWiresOf(t, 2, func(id int) (cfg scoll.Config) {
		if cfg.RTT = time.Minute; id == 0 {
			cfg.Clock, cfg.Log = clock, slog.New(log)
		}
		return cfg
	})
	inside, blocked := make(chan struct{}), make(chan struct{})
	unblock := sync.OnceFunc(func() { close(blocked) })
	defer unblock()
	w.handle(func(id int) scoll.Handler {
		return scoll.Handler{
			Inline: true,
			Answer: func(_ context.Context, q *scoll.Question) ([]byte, error) {
				switch {
				case id == 1:
				case string(q.Payload) == "slow":
					clock.pass(150 * time.Millisecond)
				case string(q.Payload) == "stuck":
					clock.pass(250 * time.Millisecond)
					close(inside)
					<-blocked
				}
				return nil, nil
			},
		}
	})
	ask := func(payload string, from int, nodes ...nid.NID) {
		t.Helper()
		g, err := w.nodes[from].agent.NewGroup(t.Context(), handled, nodes...)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := g.Call(t.Context(), scoll.CallConfig{Payload: []byte(payload)}); err != nil || r.Err() != nil {
			t.Errorf("%+v, %v", r, err)
		}
	}
	idle := func() { // waits until no callback runs: otherwise the next jump of the clock would make it count as slow
		for !w.nodes[0].agent.IsIdle() {
			runtime.Gosched()
		}
	}
	self, other := wireNID(0), wireNID(1)
	ask("quick", 1, other, self)
	idle()
	if n := w.nodes[0].agent.SlowCallbacks(); n != 0 {
		t.Fatalf("%d slow callbacks, %s", n, log.next(t))
	}
	ask("slow", 0, self)
	idle()
	if got := log.next(t); !strings.Contains(got, "took long") || !strings.Contains(got, "service=11 callback=IncomingRequest took=15") {
		t.Error(got)
	}
	ask("slow", 0, self)
	idle()
	ask("slow", 0, self)
	idle()
	clock.pass(time.Minute)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ask("stuck", 0, self)
	}()
	<-inside
	for w.nodes[0].agent.SlowCallbacks() < 4 { // makes other calls until the watchdog has counted the stuck one
		ask("quick", 1, other, self)
	}
	if got := log.next(t); !strings.Contains(got, "has not returned") || !strings.Contains(got, "took=25") || !strings.Contains(got, "more=2") {
		t.Error(got)
	}
	unblock()
	<-ended
	if len(log) > 0 {
		t.Error(log.next(t))
	}
}
