// Package handlers runs programs on events at a node. Its event handlers resemble those of
// Serf.
//
// A handler runs one program at a time. The program gets a [Batch] as JSON on standard input:
// the events that the handler selects and that occurred since the last batch. Reporting an
// event never waits for a program, and a program that hangs is ended by SIGTERM and SIGKILL.
// The load that other nodes can cause is bounded: the rate of runs by [Handler.Interval],
// memory by [MaxEvents] and [MaxBytes]. Events contain data from the network, and reach a
// program only by its standard input, never by its arguments or environment.
package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ulnet/cmd/internal/deadline"
	"ulnet/cmd/internal/program"
)

// Bounds of a handler's queue of events. If it is full, the oldest events are dropped.
const (
	MaxEvents = 1024
	MaxBytes  = 1 << 20  // bytes of all queued events as JSON
	MaxEvent  = 64 << 10 // bytes of one event; larger ones are dropped
)

// Grace is the time between SIGTERM and SIGKILL.
const Grace = 5 * time.Second

// keptOutput is how many bytes at the end of a program's output are kept.
const keptOutput = 2048

// BatchVersion is the version of [Batch]. It changes when the meaning of a field changes.
const BatchVersion = 1

// Batch is the input of a program.
type Batch struct {
	Version int    `json:"version"` // version of the format: BatchVersion
	Handler string `json:"handler"` // name of the handler
	// Missed is the number of selected events that were dropped since the last batch.
	Missed uint64            `json:"missed"`
	Events []json.RawMessage `json:"events"` // oldest first, each as the watch command prints it
}

// Handler is an event handler.
type Handler struct {
	Name     string                  // name of the handler, unique in a Set
	On       []string                // the texts of the selectors by which Selects selects, for Status
	Selects  func(event string) bool // selects events by names such as source.name.cause
	Program  []string                // path of the program, and its arguments
	User     *program.User           // user as which the program runs; nil: the user of this process
	Timeout  time.Duration           // longest time of a run; SIGTERM ends it then
	Interval time.Duration           // shortest time between the begins of two runs
}

// Config configures a Set.
type Config struct {
	Handlers []Handler       // handlers, in the order of Status
	Env      func() []string // returns variables NAME=VALUE for all programs; nil: none
	Log      *slog.Logger    // log of failures; required
}

// Set has the handlers of a node. A nil Set has no handlers. All methods are safe for
// concurrent use.
type Set struct {
	cfg   Config // cfg.Handlers are the handlers at the start
	run   runFunc
	watch atomic.Pointer[func(event string, record any)] // nil: events go to the handlers alone
	list  atomic.Pointer[[]*handler]

	ctx     context.Context // canceled by End
	cancel  context.CancelFunc
	loops   sync.WaitGroup
	change  sync.Mutex          // held while handlers are replaced, and while ctx is canceled
	leaving map[string]*handler // by name, the handler that was removed last, which may still run; guarded by change
}

// Start starts handlers, each with a goroutine until [Set.End].
func Start(cfg Config) *Set {
	run := func(ctx context.Context, r *program.Run) (program.Result, error) { return r.Do(ctx) }
	return start(cfg, run)
}

func start(cfg Config, run runFunc) *Set {
	s := &Set{cfg: cfg, run: run, leaving: map[string]*handler{}}
	s.list.Store(new([]*handler))
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.Replace(cfg.Handlers, func(string) bool { return false })
	return s
}

// End begins to end the handlers: running programs get SIGTERM, and after Grace SIGKILL. Queued
// events are dropped.
func (s *Set) End() {
	if s != nil {
		s.change.Lock()
		defer s.change.Unlock()
		s.cancel()
	}
}

// Wait waits until no program runs any more, or ctx ends. Call it after End. The error names the handlers
// whose programs have not ended: no signal ends a program that waits for a disk.
func (s *Set) Wait(ctx context.Context) error {
	if s == nil {
		return nil
	}
	err := deadline.Wait(ctx, s.loops.Wait)
	if err == nil {
		return nil
	}
	return fmt.Errorf("programs of handlers have not ended: %s: %w", strings.Join(s.unended(), ", "), err)
}

// Watch calls f with each event from now on, selected or not, in the goroutine that reports it.
// The record may change after f has returned. There is one such function, the latest.
func (s *Set) Watch(f func(event string, record any)) { s.watch.Store(&f) }

// Tell queues an event for the handlers that select it. It marshals record before it returns, and
// never waits for a program.
func (s *Set) Tell(event string, record any) {
	if s == nil {
		return
	}
	if watch := s.watch.Load(); watch != nil {
		(*watch)(event, record)
	}
	var text []byte
	for _, h := range *s.list.Load() {
		if !h.cfg.Selects(event) {
			continue
		}
		if text == nil {
			var err error
			if text, err = json.Marshal(record); err != nil {
				h.log.Error("event", slog.String("event", event), slog.Any("err", err))
				return
			}
		}
		h.tell(text)
	}
}

// ErrNone means that there is no handler with that name.
var ErrNone = errors.New("no such handler")

// Test sends an event of the source "test" to a handler, and returns the run that gets the
// event. Errors are ErrNone and the cause of ctx.
func (s *Set) Test(ctx context.Context, name string) (Run, error) {
	if s == nil {
		return Run{}, ErrNone
	}
	list := *s.list.Load()
	i := slices.IndexFunc(list, func(h *handler) bool { return h.cfg.Name == name })
	if i < 0 {
		return Run{}, ErrNone
	}
	text, err := json.Marshal(testEvent{"test", time.Now().Round(0), "test"})
	if err != nil {
		return Run{}, err
	}
	done := list[i].tellAndWait(text)
	select {
	case r, ok := <-done:
		if !ok {
			return Run{}, fmt.Errorf("handler %s: the event was lost", name)
		}
		return r, nil
	case <-ctx.Done():
		return Run{}, context.Cause(ctx)
	}
}

type testEvent struct {
	Source string    `json:"source"`
	Time   time.Time `json:"time"`
	Event  string    `json:"event"`
}

// environment returns the environment variables of a run, in addition to those of the program's
// user and of Config.Env.
func environment(name string, b *Batch) []string {
	return []string{
		"LNETD_HANDLER=" + name, "LNETD_EVENTS=" + strconv.Itoa(len(b.Events)), "LNETD_MISSED=" + strconv.FormatUint(b.Missed, 10),
	}
}

// textOf converts output of a program to printable text.
func textOf(output []byte) string { return strings.ToValidUTF8(string(output), "\uFFFD") }
