package main

import (
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// outliveTerminal keeps SIGHUP from ending the daemon until stop is called. The daemon gets
// SIGHUP when its terminal is closed, or from an administrator who expects it to read its
// configuration again. The signal is caught rather than ignored, because programs that the
// daemon starts would inherit an ignored signal.
func outliveTerminal(log *slog.Logger) (stop func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for range hangups {
			log.Info("SIGHUP changes nothing: the configuration is read at the start, SIGTERM ends the daemon")
		}
	}()
	return func() {
		signal.Stop(hangups)
		close(hangups)
		<-ended
	}
}
