// Package handlers runs programs when something happens at a node: event handlers, as
// those of Serf are.
//
// A handler runs one program at a time. Its program gets a [Batch] of events as JSON
// on standard input: all that happened, and that the handler selects, since the
// batch before. Events never wait for a program, and a program that hangs is ended
// by SIGTERM and SIGKILL. What strangers can cause is bounded: the rate of runs by
// [Handler.Interval], memory by [MaxEvents] and [MaxBytes]. Events are data of the
// network and reach a program by its standard input alone, never by its arguments
// or environment.
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
	"time"

	"ulnet/cmd/internal/program"
)

// Bounds of what waits for a handler; the oldest events give way.
const (
	MaxEvents = 1024
	MaxBytes  = 1 << 20  // of all events as JSON
	MaxEvent  = 64 << 10 // of one event; larger ones are lost
)

// Grace is the time from SIGTERM to SIGKILL.
const Grace = 5 * time.Second

// keptOutput is how many bytes at the end of a program's output are kept.
const keptOutput = 2048

// BatchVersion is the version of [Batch]: another one if a field changes its meaning.
const BatchVersion = 1

// Batch is what a program gets on standard input.
type Batch struct {
	Version int    `json:"version"` // BatchVersion
	Handler string `json:"handler"` // its name
	// Missed is how many events that the handler selects were lost since the batch
	// before.
	Missed uint64            `json:"missed"`
	Events []json.RawMessage `json:"events"` // each in the form in which the watches print it, the oldest first
}

// Handler is an event handler.
type Handler struct {
	Name     string
	Selects  func(event string) bool // by source, name and cause, with dots between
	Program  []string                // and arguments
	User     *program.User           // nil: that of this process
	Timeout  time.Duration           // of a run, until SIGTERM
	Interval time.Duration           // from the beginning of a run to that of the next, at least
}

// Config configures handlers.
type Config struct {
	Handlers []Handler
	Env      func() []string // NAME=VALUE for all programs; nil: none
	Log      *slog.Logger    // required
}

// Set is the handlers of a node. A nil Set has none. All methods are safe for
// concurrent use.
type Set struct {
	list   []*handler
	cancel context.CancelFunc
	loops  sync.WaitGroup
}

// Start starts handlers, each with a goroutine until [Set.End].
func Start(cfg Config) *Set {
	run := func(ctx context.Context, r *program.Run) (program.Result, error) { return r.Do(ctx) }
	return start(cfg, run)
}

func start(cfg Config, run runFunc) *Set {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Set{cancel: cancel}
	for _, h := range cfg.Handlers {
		s.list = append(s.list, newHandler(h, cfg, run))
	}
	for _, h := range s.list {
		s.loops.Go(func() { h.loop(ctx) })
	}
	return s
}

// End begins to end the handlers: programs that run get SIGTERM, and after Grace
// SIGKILL; events that wait are lost.
func (s *Set) End() {
	if s != nil {
		s.cancel()
	}
}

// Wait waits until no program runs any more. Call it after End.
func (s *Set) Wait() {
	if s != nil {
		s.loops.Wait()
	}
}

// Tell gives an event to the handlers that select it. Record is marshalled before
// Tell returns; Tell never waits for a program.
func (s *Set) Tell(event string, record any) {
	if s == nil {
		return
	}
	var text []byte
	for _, h := range s.list {
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

// ErrNone says that there is no handler of a name.
var ErrNone = errors.New("no such handler")

// Test gives an event of the source "test" to a handler and waits for the run that
// gets it, which it returns. It returns ErrNone, or the cause of ctx.
func (s *Set) Test(ctx context.Context, name string) (Run, error) {
	if s == nil {
		return Run{}, ErrNone
	}
	i := slices.IndexFunc(s.list, func(h *handler) bool { return h.cfg.Name == name })
	if i < 0 {
		return Run{}, ErrNone
	}
	text, err := json.Marshal(testEvent{"test", time.Now().Round(0), "test"})
	if err != nil {
		return Run{}, err
	}
	done := s.list[i].tellAndWait(text)
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

// environment of a run, beside that of the program's user and Config.Env.
func environment(name string, b *Batch) []string {
	return []string{
		"LNETD_HANDLER=" + name, "LNETD_EVENTS=" + strconv.Itoa(len(b.Events)), "LNETD_MISSED=" + strconv.FormatUint(b.Missed, 10),
	}
}

// textOf returns output of a program as text that can be shown.
func textOf(output []byte) string { return strings.ToValidUTF8(string(output), "\uFFFD") }
