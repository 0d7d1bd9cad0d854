package main

import (
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

// outliveTerminal keeps SIGHUP from ending the daemon until stop is called. The signal comes
// when the terminal of the daemon is closed, or from an administrator who expects the daemon
// to read its configuration again. It is caught and not ignored, because programs that the
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
