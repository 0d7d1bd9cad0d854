package handlers

import (
	"context"
	"log/slog"
	"time"
)

// Status is the state of a handler.
type Status struct {
	Name       string   `json:"name"`           // name of the handler
	On         []string `json:"on"`             // events with which the handler is run
	Program    []string `json:"run"`            // program and arguments
	User       string   `json:"user,omitempty"` // the user as which the program runs; empty: the user of lnetd
	TimeoutMS  int64    `json:"timeout_ms"`     // longest time of a run, in milliseconds
	IntervalMS int64    `json:"interval_ms"`    // shortest time between the begins of two runs, in milliseconds

	Running  bool   `json:"running"`           // a program is running
	Waiting  int    `json:"waiting"`           // number of events that the next run will get
	Runs     uint64 `json:"runs"`              // number of runs that have ended
	Failures uint64 `json:"failures"`          // number of these runs that did not start, or had an exit code other than 0
	TimedOut uint64 `json:"timed_out"`         // number of these runs that the timeout ended
	Events   uint64 `json:"events"`            // number of events that these runs got
	Missed   uint64 `json:"missed"`            // events that were dropped because the handler was too slow
	Problem  string `json:"problem,omitempty"` // a reason why the program cannot run; empty: none is known
	Last     *Run   `json:"last,omitempty"`    // the last run that has ended
}

// Run is a run that has ended.
type Run struct {
	Began    time.Time `json:"began"`            // begin of the run, by the wall clock
	TookMS   int64     `json:"took_ms"`          // duration of the run in milliseconds
	Events   int       `json:"events"`           // number of events that the program got
	Missed   uint64    `json:"missed"`           // number of events dropped since the last batch
	Exit     int       `json:"exit"`             // exit code, or minus the signal that ended it
	TimeOver bool      `json:"time_over"`        // the timeout ended the run
	Output   string    `json:"output,omitempty"` // the end of the program's standard output and error
	Cut      bool      `json:"cut,omitempty"`    // the beginning of the output was dropped
	Error    string    `json:"error,omitempty"`  // why the program did not start
}

// Failed reports whether the run has failed.
func (r *Run) Failed() bool { return r.Exit != 0 || r.TimeOver || r.Error != "" }

// Status returns the state of all handlers, in the order of the configuration.
func (s *Set) Status() []Status {
	list := []Status{}
	if s == nil {
		return list
	}
	for _, h := range *s.list.Load() {
		h.mu.Lock()
		status := h.status
		status.Waiting = len(h.queue.events)
		status.Missed += h.queue.missed
		h.mu.Unlock()
		list = append(list, status)
	}
	return list
}

// complainInterval is the time between two log lines about a handler that fails.
const complainInterval = time.Minute

// complaints logs the runs of one handler: failures at most once a minute, with the number of
// failures in between, and the first success after a logged failure.
type complaints struct {
	last   time.Time // time of the last line about a failure
	said   bool      // a failure was logged, and no run has succeeded since
	unsaid int       // number of failures since the last line
}

func (c *complaints) report(log *slog.Logger, r *Run) {
	switch now := time.Now(); {
	case !r.Failed() && c.said:
		c.said = false
		log.LogAttrs(context.Background(), slog.LevelInfo, "handler works again", r.attrs()...)
	case !r.Failed():
		log.LogAttrs(context.Background(), slog.LevelDebug, "handler has run", r.attrs()...)
	case !c.last.IsZero() && now.Sub(c.last) < complainInterval:
		c.unsaid++
	default:
		attrs := r.attrs()
		if c.unsaid > 0 {
			attrs = append(attrs, slog.Int("unsaid", c.unsaid))
		}
		c.last, c.said, c.unsaid = now, true, 0
		log.LogAttrs(context.Background(), slog.LevelWarn, "handler failed", attrs...)
	}
}

// attrs returns the attributes of a log line about the run, without the output of a success.
func (r *Run) attrs() []slog.Attr {
	attrs := []slog.Attr{slog.Int("exit", r.Exit), slog.Int("events", r.Events), slog.Int64("took_ms", r.TookMS)}
	if r.Missed > 0 {
		attrs = append(attrs, slog.Uint64("missed", r.Missed))
	}
	if r.TimeOver {
		attrs = append(attrs, slog.Bool("time_over", true))
	}
	if r.Error != "" {
		attrs = append(attrs, slog.String("err", r.Error))
	}
	if r.Output != "" && r.Failed() {
		attrs = append(attrs, slog.String("output", r.Output))
	}
	return attrs
}
