package service

import (
	"context"
	"log/slog"
	"time"
)

// Watch sends the manager a message twice in the time of its watchdog, each time after probe has
// returned nil. A probe that does not return, or returns an error, is logged once, and the manager
// restarts the daemon when no message has come in time. Only one probe runs at a time; its context
// ends after half of the watchdog's time. The function stop ends Watch and does not wait for a
// probe that hangs.
func (m *Manager) Watch(probe func(context.Context) error) (stop func()) {
	if m.send == nil || m.watchdog == 0 {
		return func() {}
	}
	w := &watch{Manager: m, probe: probe, every: m.watchdog / 2}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.run(ctx)
	}()
	return func() { cancel(); <-ended }
}

// watch is a running Watch. Its goroutine owns the fields below.
type watch struct {
	*Manager
	probe  func(context.Context) error
	every  time.Duration // time between the beginnings of two probes
	failed bool          // the last probe failed, or is late
}

func (w *watch) run(ctx context.Context) {
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	for ctx.Err() == nil {
		switch err := w.wait(ctx); {
		case ctx.Err() != nil:
			return
		case err != nil:
			w.fail(err)
		default:
			w.tell("WATCHDOG=1")
			if w.failed {
				w.log.Info("the node answers the watchdog again")
			}
			w.failed = false
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// wait runs the probe until it returns or ctx ends.
func (w *watch) wait(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, w.every)
	defer cancel()
	answer := make(chan error, 1)
	go func() { answer <- w.probe(limited) }()
	select {
	case err := <-answer:
		return err
	case <-limited.Done():
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.fail(context.Cause(limited))
	select { // the probe ignores the end of its context: it hangs
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fail logs that the node does not answer, once until it answers again.
func (w *watch) fail(err error) {
	if !w.failed {
		w.log.Error("the node does not answer the watchdog: the service manager restarts the daemon if that lasts",
			slog.Duration("watchdog", w.watchdog), slog.Any("err", err))
	}
	w.failed = true
}
