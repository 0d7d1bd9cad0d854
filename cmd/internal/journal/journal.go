// Package journal writes the daemon's log to journald in its native protocol, if standard error is
// a stream of journald. So each line keeps its level, its attributes are fields that
// 'journalctl' can select, and lines about events that administrators wait for have a message id
// (see IDs), which stays the same when the text changes.
//
// A line is one datagram with fields NAME=VALUE to the socket of journald ("Native Journal
// Protocol", systemd.io/JOURNAL_NATIVE_PROTOCOL). The size of each field and the number of fields
// are bounded, so that a datagram fits into the buffer of a socket.
package journal

import (
	"context"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// address is the socket of journald.
const address = "/run/systemd/journal/socket"

// Handler returns a handler that writes lines of the level and above to journald. If stderr is not the
// stream of journald that the variable JOURNAL_STREAM names, it returns fallback instead. While there is
// no journald, lines go to fallback; while journald does not read, they are dropped. The name is the
// SYSLOG_IDENTIFIER of all lines.
func Handler(getenv func(string) string, stderr io.Writer, name string, level slog.Leveler, fallback slog.Handler) slog.Handler {
	if !streams(getenv("JOURNAL_STREAM"), stderr) {
		return fallback
	}
	return &handler{socket: newSocket(address), name: name, level: level, fallback: fallback}
}

// streams reports whether w is the file that $JOURNAL_STREAM names by device and inode. For a Stream, it
// checks the file to which the Stream writes.
func streams(stream string, w io.Writer) bool {
	if s, ok := w.(*Stream); ok {
		w = s.w
	}
	f, ok := w.(*os.File)
	if !ok || stream == "" {
		return false
	}
	info, err := f.Stat()
	if err != nil {
		return false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && stream == strconv.FormatUint(s.Dev, 10)+":"+strconv.FormatUint(s.Ino, 10)
}

// handler is a slog.Handler that writes to journald.
type handler struct {
	socket   *socket
	name     string
	level    slog.Leveler
	fallback slog.Handler
	fields   []field // attributes that WithAttrs has added
	group    string  // prefix that WithGroup gives the names of further attributes
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level.Level() }

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	next.fields = h.fields[:len(h.fields):len(h.fields)]
	for _, a := range attrs {
		next.fields = flatten(next.fields, h.group, a)
	}
	next.fallback = h.fallback.WithAttrs(attrs)
	return &next
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	next := *h
	next.group, next.fallback = h.group+name+".", h.fallback.WithGroup(name)
	return &next
}

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	fields := h.fields[:len(h.fields):len(h.fields)]
	r.Attrs(func(a slog.Attr) bool {
		fields = flatten(fields, h.group, a)
		return true
	})
	if h.socket.send(h.name, entry(h.name, r.Level, r.Message, fields)) == nil {
		return nil
	}
	return h.fallback.Handle(ctx, r)
}

// priority returns the syslog level of a level.
func priority(l slog.Level) string {
	switch {
	case l >= slog.LevelError:
		return "3"
	case l >= slog.LevelWarn:
		return "4"
	case l >= slog.LevelInfo:
		return "6"
	}
	return "7"
}

// idOf returns the message id of a line, or "".
func idOf(message string, fields []field) string {
	if rest, ok := strings.CutPrefix(message, "["); ok { // a line of gossip: its clock, in brackets, stands before the text
		_, message, _ = strings.Cut(rest, "] ")
	}
	for _, id := range IDs {
		if id.Text == message && (id.Event == "" || valueOf(fields, "event") == id.Event) {
			return id.ID
		}
	}
	return ""
}
