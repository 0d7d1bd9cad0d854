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

// Reload reads the configuration again and applies what has changed, or nothing of it.
//
//	EINVAL     a file is not valid, or cannot be read; the error names file and line
//	EBUSY      a key has changed that counts only when the daemon starts
//	ESHUTDOWN  the daemon ends
//
// Other errors are those of the operation that could not be done, such as ENETDOWN for an interface
// that does not exist. A reload goes on if ctx ends.
func (s *Settings) Reload(ctx context.Context) (Reloaded, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
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
		s.log.Error("configuration not reloaded: everything is as before", slog.Any("err", err), slog.String("hint", cli.HintOf(err)))
		return Reloaded{}, err
	}
	s.log.Info("configuration reloaded", slog.Int("changes", len(done)), slog.String("changed", strings.Join(done, "; ")))
	return Reloaded{Changed: done}, nil
}

// reload is Reload without its lock and its log.
func (s *Settings) reload(ctx context.Context) ([]string, error) {
	next, err := s.Load()
	if err != nil {
		return nil, cli.Hint(cli.Errno(syscall.EINVAL, err), "'lnetctl config check FILE' lists all errors of a file")
	}
	changes := config.Changes(s.now, next)
	s.pending = slices.DeleteFunc(slices.Clone(changes), func(c config.KeyChange) bool { return config.AtRunTime(c.Key) })
	if len(s.pending) > 0 {
		return nil, refused(s.pending)
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
	s.now = next
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

// Close waits for a reload that goes on, and refuses further ones.
func (s *Settings) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}
