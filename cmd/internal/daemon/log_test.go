package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
)

// TestLogLevel: a change of the level acts at once, on standard error and for listeners. At a level
// below info, listeners get what standard error gets; at a level above info, they still get lines
// of level info.
func TestLogLevel(t *testing.T) {
	var stderr, listeners bytes.Buffer
	c := config.Default()
	l := NewLog(cli.Env{Stderr: &stderr, Getenv: func(string) string { return "" }}, &listeners, &c)
	for _, test := range []struct {
		level             string
		stderr, listeners string // levels of the lines that standard error and listeners get
	}{
		{"info", "INFO WARN ERROR", "INFO WARN ERROR"},
		{"error", "ERROR", "INFO WARN ERROR"},
		{"debug", "DEBUG INFO WARN ERROR", "DEBUG INFO WARN ERROR"},
		{"WARN", "WARN ERROR", "INFO WARN ERROR"},
	} {
		if err := l.change(LogLevel{test.level}); err != nil {
			t.Fatal(err)
		}
		stderr.Reset()
		listeners.Reset()
		for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
			l.Log(context.Background(), level, "x")
		}
		if got := levels(t, stderr.String(), "level=", " "); got != test.stderr {
			t.Errorf("%s: standard error has %q, want %q", test.level, got, test.stderr)
		}
		if got := levels(t, listeners.String(), `"level":"`, `"`); got != test.listeners {
			t.Errorf("%s: listeners have %q, want %q", test.level, got, test.listeners)
		}
		if s := l.Status(); s.Level != strings.ToLower(test.level) || s.Format != "text" {
			t.Errorf("status %+v after %s", s, test.level)
		}
	}
	l.SetFormat(config.LogJSON)
	stderr.Reset()
	l.With("a", 1).WithGroup("g").Warn("x", "b", 2)
	if text := stderr.String(); !strings.HasSuffix(text, `"msg":"x","a":1,"g":{"b":2}}`+"\n") || l.Status().Format != "json" {
		t.Errorf("after a change of the format %q", text)
	}
	l.SetFormat(config.LogText)
	stderr.Reset()
	l.Warn("x", "b", 2)
	if text := stderr.String(); !strings.HasSuffix(text, "msg=x b=2\n") {
		t.Errorf("after another change of the format %q", text)
	}
	if err := l.change(LogLevel{"loud"}); err == nil || l.Level() != slog.LevelWarn {
		t.Errorf("%v, level %v", err, l.Level())
	}
}

// levels returns what stands between two texts in each line.
func levels(t *testing.T, lines, after, before string) string {
	t.Helper()
	var all []string
	for line := range strings.Lines(lines) {
		_, rest, ok := strings.Cut(line, after)
		if !ok {
			t.Fatalf("line %q", line)
		}
		level, _, _ := strings.Cut(rest, before)
		all = append(all, level)
	}
	return strings.Join(all, " ")
}

// TestJSONLog: with log_format json each line of standard error is a JSON object.
func TestJSONLog(t *testing.T) {
	var stderr, listeners bytes.Buffer
	c := config.Default()
	c.LogFormat = config.LogJSON
	l := NewLog(cli.Env{Stderr: &stderr, Getenv: func(string) string { return "" }}, &listeners, &c)
	l.Warn("links are not watched", slog.String("err", "a \"quoted\"\ntext"))
	var line map[string]string
	if err := json.Unmarshal(stderr.Bytes(), &line); err != nil || line["level"] != "WARN" || line["err"] != "a \"quoted\"\ntext" {
		t.Errorf("%s: %v", &stderr, err)
	}
	if l.Status().Format != "json" {
		t.Errorf("%+v", l.Status())
	}
}
