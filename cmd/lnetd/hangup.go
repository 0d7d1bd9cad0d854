package main

import (
	"os"
	"os/signal"
	"syscall"
)

// hangups are the SIGHUPs of the daemon: its terminal is closed, or an administrator wants it to
// read its configuration again. The signal is caught rather than ignored, because programs that
// the daemon starts would inherit an ignored signal.
type hangups struct {
	signals chan os.Signal
	ended   chan struct{} // closed when the goroutine of serve has ended; nil: there is none
}

// catchHangups keeps SIGHUP from ending the process until stop is called.
func catchHangups() *hangups {
	h := &hangups{signals: make(chan os.Signal, 1)}
	signal.Notify(h.signals, syscall.SIGHUP)
	return h
}

// serve calls do for each signal, one at a time. Signals that arrive during a call cause one
// further call.
func (h *hangups) serve(do func()) {
	h.ended = make(chan struct{})
	go func() {
		defer close(h.ended)
		for range h.signals {
			do()
		}
	}()
}

// stop waits until no call is running.
func (h *hangups) stop() {
	signal.Stop(h.signals)
	close(h.signals)
	if h.ended != nil {
		<-h.ended
	}
}
