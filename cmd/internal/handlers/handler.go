package handlers

import (
	"context"
	"encoding/json"
	"log/slog"
	"os/exec"
	"sync"
	"time"

	"ulnet/cmd/internal/program"
)

// runFunc runs a program: program.Run.Do, or a replacement in tests.
type runFunc func(context.Context, *program.Run) (program.Result, error)

// handler is an event handler that has been started.
type handler struct {
	cfg  Handler
	env  func() []string
	log  *slog.Logger
	run  runFunc
	wake chan struct{} // has a token while events are queued; capacity 1
	said complaints    // failures that were logged; owned by the method loop

	cancel context.CancelFunc // ends the method loop; set by launch
	done   chan struct{}      // closed when the handler has ended

	mu     sync.Mutex
	queue  queue // events that wait; guarded by mu, like all below
	ended  bool  // no further program may be started
	status Status
}

func newHandler(h Handler, cfg Config, run runFunc) *handler {
	k := &handler{cfg: h, env: cfg.Env, log: cfg.Log.With(slog.String("handler", h.Name)), run: run, wake: make(chan struct{}, 1), done: make(chan struct{})}
	k.status.Name, k.status.On, k.status.Program = h.Name, h.On, h.Program
	k.status.TimeoutMS, k.status.IntervalMS = h.Timeout.Milliseconds(), h.Interval.Milliseconds()
	if h.User != nil {
		k.status.User = h.User.Name
	}
	if _, err := exec.LookPath(h.Program[0]); err != nil {
		k.status.Problem = err.Error()
		k.log.Warn("the program of a handler cannot be run now: see run in the section handlers", slog.Any("err", err))
	}
	return k
}

// tell queues an event.
func (h *handler) tell(text []byte) { h.add(event{text: text}) }

// tellAndWait queues an event. The channel receives the result of the run that gets the event.
// If the event is dropped, the channel is closed without one.
func (h *handler) tellAndWait(text []byte) <-chan Run {
	done := make(chan Run, 1)
	h.add(event{text: text, done: done})
	return done
}

func (h *handler) add(e event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		e.lost()
		return
	}
	h.queue.push(e)
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// hasEnded reports whether the handler and its program have ended.
func (h *handler) hasEnded() bool {
	select {
	case <-h.done:
		return true
	default:
		return false
	}
}

// loop runs the program for batches of events until ctx ends.
func (h *handler) loop(ctx context.Context) {
	defer h.end()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select { // wait for the interval first, so that events in that time join the batch
		case <-pause.C:
		case <-ctx.Done():
			return
		}
		events, batch, ok := h.next(ctx)
		if !ok {
			return
		}
		pause.Reset(h.cfg.Interval)
		h.once(ctx, events, &batch)
	}
}

// next waits for events and takes all of them. It returns false when ctx has ended.
func (h *handler) next(ctx context.Context) (events []event, b Batch, ok bool) {
	for !ok {
		select {
		case <-h.wake: // the token may be left over from an event of the previous batch
			events, b, ok = h.begin()
		case <-ctx.Done():
			return nil, b, false
		}
	}
	return events, b, true
}

// end drops the queued events, and prevents further runs.
func (h *handler) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	events, missed := h.queue.take()
	h.status.Missed += missed
	for i := range events {
		events[i].lost()
	}
	if len(events) > 0 {
		h.log.Info("events were not handled at the end", slog.Int("events", len(events)))
	}
}

// once runs the program once.
func (h *handler) once(ctx context.Context, events []event, batch *Batch) {
	input, err := json.Marshal(batch)
	if err != nil { // cannot happen: each event is valid JSON
		h.log.Error("batch of events", slog.Any("err", err))
	}
	r := program.Run{
		Args: h.cfg.Program, User: h.cfg.User, Input: append(input, '\n'), Env: environment(h.cfg.Name, batch),
		Timeout: h.cfg.Timeout, Grace: Grace, Output: keptOutput,
	}
	if h.env != nil {
		r.Env = append(r.Env, h.env()...)
	}
	began := time.Now()
	result, err := h.run(ctx, &r)
	run := Run{
		Began: began.Round(0), TookMS: time.Since(began).Milliseconds(), Events: len(batch.Events), Missed: batch.Missed,
		Exit: int(result.Exit), TimeOver: result.TimeOver, Output: textOf(result.Output), Cut: result.Cut,
	}
	if err != nil {
		run.Error, run.Exit = err.Error(), -1
	}
	h.finish(events, run)
	if ctx.Err() == nil { // if End or Replace has ended the program, its failure is not logged
		h.said.report(h.log, &run)
	}
}

// begin takes the queued events. It returns false if there are none.
func (h *handler) begin() ([]event, Batch, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.queue.events) == 0 {
		return nil, Batch{}, false
	}
	events, missed := h.queue.take()
	b := Batch{Version: BatchVersion, Handler: h.cfg.Name, Missed: missed, Events: make([]json.RawMessage, len(events))}
	for i := range events {
		b.Events[i] = events[i].text
	}
	h.status.Running = true
	h.status.Missed += missed
	return events, b, true
}

// finish counts a run, and answers the callers of tellAndWait.
func (h *handler) finish(events []event, run Run) {
	h.mu.Lock()
	s := &h.status
	s.Running, s.Problem, s.Last = false, run.Error, &run
	s.Runs++
	s.Events += uint64(run.Events)
	if run.Failed() {
		s.Failures++
	}
	if run.TimeOver {
		s.TimedOut++
	}
	h.mu.Unlock()
	for _, e := range events {
		if e.done != nil {
			e.done <- run
		}
	}
}
