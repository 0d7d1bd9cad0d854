package daemon

import (
	"io"
	"log/slog"
	"sync/atomic"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/journal"
)

// Log is the log of the daemon: lines of its level and above on standard error, and lines of
// level info and above, or of its level if that is lower, to listeners on the control socket.
type Log struct {
	*slog.Logger
	json  atomic.Bool // lines are JSON
	level slog.LevelVar
}

// LogStatus is how the daemon logs.
type LogStatus struct {
	Level  string `json:"level"`  // lowest level of lines: debug, info, warn or error
	Format string `json:"format"` // text or json
}

// LogLevel asks for another level.
type LogLevel struct {
	Level string `json:"level"` // debug, info, warn or error
}

// NewLog returns the log that the configuration describes. Lines for listeners are JSON whatever
// the format is. If standard error is a stream of journald, as the environment says, lines in
// format text go there with their fields. If nothing reads standard error, lines are dropped (see
// [journal.Stream]).
func NewLog(env cli.Env, listeners io.Writer, c *config.Config) *Log {
	l := new(Log)
	l.SetFormat(c.LogFormat)
	l.level.Set(c.LogLevel)
	options := &slog.HandlerOptions{Level: &l.level}
	stderr := journal.NewStream(env.Stderr)
	stderr.SetFormat(func(w io.Writer) slog.Handler {
		return either{&l.json, slog.NewJSONHandler(w, nil), slog.NewTextHandler(w, nil)}
	})
	lines := either{
		json: &l.json, ifJSON: slog.NewJSONHandler(stderr, options),
		ifText: journal.Handler(env.Getenv, stderr, "lnetd", &l.level, slog.NewTextHandler(stderr, options)),
	}
	events := slog.NewJSONHandler(listeners, &slog.HandlerOptions{Level: atMostInfo{&l.level}})
	l.Logger = slog.New(slog.NewMultiHandler(lines, events))
	return l
}

// atMostInfo is a level, or info if that is lower.
type atMostInfo struct{ of slog.Leveler }

// Level implements slog.Leveler.
func (a atMostInfo) Level() slog.Level { return min(a.of.Level(), slog.LevelInfo) }

// SetLevel changes the level from now on.
func (l *Log) SetLevel(level slog.Level) {
	if before := l.level.Level(); before != level {
		l.level.Set(level)
		l.Info("log level changed", slog.String("from", config.LevelName(before)), slog.String("to", config.LevelName(level)))
	}
}

// SetFormat changes the format of lines on standard error from now on: config.LogText or LogJSON.
func (l *Log) SetFormat(format string) { l.json.Store(format == config.LogJSON) }

// Level returns the level.
func (l *Log) Level() slog.Level { return l.level.Level() }

// Status returns how the daemon logs.
func (l *Log) Status() LogStatus {
	format := config.LogText
	if l.json.Load() {
		format = config.LogJSON
	}
	return LogStatus{Level: config.LevelName(l.Level()), Format: format}
}

// Routes returns the operations of the log.
func (l *Log) Routes() []control.Route {
	return []control.Route{OpLog.Do(control.Told(l.Status)), OpLogLevel.Do(control.Act(l.change))}
}

func (l *Log) change(r LogLevel) error {
	level, err := config.ParseLevel(r.Level)
	if err == nil {
		l.SetLevel(level)
	}
	return err
}
