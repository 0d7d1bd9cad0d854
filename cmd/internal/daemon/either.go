package daemon

import (
	"context"
	"log/slog"
	"sync/atomic"
)

// either is a handler that passes each line to one of two handlers, by the format at that time.
type either struct {
	json           *atomic.Bool
	ifJSON, ifText slog.Handler
}

func (e either) now() slog.Handler {
	if e.json.Load() {
		return e.ifJSON
	}
	return e.ifText
}

// Enabled implements slog.Handler, like the methods below.
func (e either) Enabled(ctx context.Context, level slog.Level) bool {
	return e.now().Enabled(ctx, level)
}

// Handle passes on a line.
func (e either) Handle(ctx context.Context, r slog.Record) error { return e.now().Handle(ctx, r) }

// WithAttrs returns a handler whose lines have further attributes in both formats.
func (e either) WithAttrs(attrs []slog.Attr) slog.Handler {
	return either{e.json, e.ifJSON.WithAttrs(attrs), e.ifText.WithAttrs(attrs)}
}

// WithGroup returns a handler whose further attributes are in a group in both formats.
func (e either) WithGroup(name string) slog.Handler {
	return either{e.json, e.ifJSON.WithGroup(name), e.ifText.WithGroup(name)}
}
