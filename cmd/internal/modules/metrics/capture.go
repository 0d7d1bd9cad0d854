package metrics

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"os"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/page"
	"ulnet/cmd/internal/web"
	"ulnet/cmd/internal/webcapture"
)

// viewer is the tap of a daemon that viewers can watch, see capture.Writer.
type viewer interface {
	View(ctx context.Context, out io.Writer) error
	ViewHeaders(ctx context.Context, out io.Writer) error
}

// openCapture adds captures to the page. Without a token they are refused, with a text that says
// what to set.
func (m *Module) openCapture(at web.Address) {
	cfg := webcapture.Config{Name: fileName(), Log: m.Log}
	tap, ok := m.Tap.(viewer)
	if file := m.Config.MetricsToken; ok && file != "" {
		cfg.View = func(ctx context.Context, out io.Writer, payload bool) error {
			if payload {
				return tap.View(ctx, out)
			}
			return tap.ViewHeaders(ctx, out)
		}
		cfg.Token = func() ([]byte, error) { return config.ReadToken(file) }
		if !at.Local() {
			m.Log.Warn("the token of metrics_capture_token and what it opens travel in clear text", slog.String("address", at.Address))
		}
	}
	m.capture = webcapture.New(cfg)
	m.server.HandleOrder(webcapture.StartPath, m.capture.Start())
	m.server.Handle(webcapture.DownloadPath, m.capture.Download())
}

// fileName returns the name of a file with a capture of this host.
func fileName() string {
	name, _ := os.Hostname()
	return cmp.Or(name, "lnetd")
}

// captureStatus returns the status of captures for the page; nil: there are none.
func (m *Module) captureStatus() *page.Capture {
	s := m.capture.Status()
	if s == nil {
		return nil
	}
	return &page.Capture{Running: s.Running, Bytes: s.Bytes, Wrong: s.Wrong}
}
