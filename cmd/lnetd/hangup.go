package main

import (
	"os"
	"os/signal"
	"syscall"
)

// hangups are the SIGHUPs of the daemon: its terminal is closed, or an administrator wants it to
// read its configuration again. The signal is caught rather than ignored, because programs that
// the daemon starts would inherit an ignored signal. It stays caught until the process has ended:
// otherwise a SIGHUP after the last call would end the process before its exit code is returned.
type hangups struct {
	signals chan os.Signal // has room for one signal, which stands for all that arrive during a call
	stopped chan struct{}  // closed by stop
	ended   chan struct{}  // closed when the goroutine of serve has ended; nil: there is none
}

// catchHangups keeps SIGHUP from ending the process.
func catchHangups() *hangups {
	h := &hangups{signals: make(chan os.Signal, 1), stopped: make(chan struct{})}
	signal.Notify(h.signals, syscall.SIGHUP)
	return h
}

// serve calls do for each signal, one at a time, until stop is called. Signals that arrive during a
// call cause one further call.
func (h *hangups) serve(do func()) {
	h.ended = make(chan struct{})
	go func() {
		defer close(h.ended)
		for {
			select {
			case <-h.stopped:
				return
			case <-h.signals:
				do()
			}
		}
	}()
}

// stop waits until the running call has returned, but at most for stopWithin. Later SIGHUPs have no
// effect.
func (h *hangups) stop() {
	close(h.stopped)
	if h.ended != nil {
		_ = waitBriefly(stopWithin, func() { <-h.ended }) // an error means that the call hangs, which closeSettings has logged
	}
}

// catchBrokenPipes makes writes to standard output and standard error fail if the process that reads them has
// ended, such as a collector of logs. Otherwise SIGPIPE would end the daemon with its next line. The signal is
// caught and not ignored, and for as long as the process runs, for the reasons given for hangups.
func catchBrokenPipes() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}
