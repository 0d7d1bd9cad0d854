package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
)

// Reloaded is what a reload has changed.
type Reloaded struct {
	Changed []string `json:"changed"` // texts for people, in the order of the changes; empty: nothing had changed
}

// Reload reads the configuration again, and applies all of its changes or, after an error, none.
//
//	EINVAL     a file is not valid, or cannot be read; the error names file and line
//	EBUSY      a key has changed whose value takes effect only when the daemon starts
//	ESHUTDOWN  the daemon ends
//
// Other errors are those of the operation that failed, such as ENETDOWN for an interface that does not
// exist. A reload that has begun does not stop when ctx ends.
func (s *Settings) Reload(ctx context.Context) (Reloaded, error) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.isClosed() {
		return Reloaded{}, cli.Errnof(syscall.ESHUTDOWN, "lnetd is ending")
	}
	if s.Begin != nil {
		s.Begin()
	}
	if s.End != nil {
		defer s.End()
	}
	done, err := s.reload(context.WithoutCancel(ctx))
	if err != nil {
		s.log.Error("configuration not reloaded", slog.Any("err", err), slog.String("hint", cli.HintOf(err)))
		return Reloaded{}, err
	}
	s.log.Info("configuration reloaded", slog.Int("changes", len(done)), slog.String("changed", strings.Join(done, "; ")))
	return Reloaded{Changed: done}, nil
}

// reload is Reload without waiting for other reloads and without logging the result.
func (s *Settings) reload(ctx context.Context) ([]string, error) {
	next, err := s.Load()
	if err != nil {
		return nil, cli.Hint(cli.Errno(syscall.EINVAL, err), "'lnetctl config check FILE' lists all errors of a file")
	}
	for _, w := range next.Warnings {
		s.log.Warn(w.Text, slog.String("file", w.File), slog.Int("line", w.Line))
	}
	pending := slices.DeleteFunc(config.Changes(s.now, next), func(c config.KeyChange) bool { return config.AtRunTime(c.Key) })
	s.set(s.now, pending)
	if len(pending) > 0 {
		return nil, refused(pending)
	}
	done, err := s.node.Reload(ctx, s.now, next)
	if err != nil {
		return nil, err
	}
	if next.LogLevel != s.now.LogLevel {
		s.log.SetLevel(next.LogLevel)
		done = append(done, "log_level: "+config.LevelName(next.LogLevel))
	}
	if next.LogFormat != s.now.LogFormat {
		s.log.SetFormat(next.LogFormat)
		done = append(done, "log_format: "+next.LogFormat)
	}
	s.set(next, nil)
	return append([]string{}, done...), nil
}

// refused returns the error for changes that need a restart.
func refused(list []config.KeyChange) error {
	var lines []string
	for _, c := range list {
		lines = append(lines, fmt.Sprintf("%v needs a restart", c))
	}
	return cli.Hint(cli.Errnof(syscall.EBUSY, "%s", strings.Join(lines, "\n")), "restart lnetd (systemctl restart lnetd), or take these changes back and reload again; nothing was changed")
}

// set changes what Show reads.
func (s *Settings) set(now *config.Loaded, pending []config.KeyChange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.pending = now, pending
}

func (s *Settings) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Close refuses further reloads, and waits until a running one has ended or ctx ends.
func (s *Settings) Close(ctx context.Context) {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	select {
	case s.turn <- struct{}{}:
		<-s.turn
	case <-ctx.Done():
		s.log.Warn("lnetd ends in the middle of a reload, which takes too long")
	}
}
