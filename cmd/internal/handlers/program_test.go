package handlers

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestProgram: a real program gets a batch on standard input and its environment. Data from the
// network reaches the program only on standard input.
func TestProgram(t *testing.T) {
	t.Setenv("SECRET", "of the daemon")
	h := handlerOf("h")
	h.Program = []string{"/bin/sh", "-c", "cat; env | grep -v '^PWD=\\|^_=\\|^SHLVL=' | sort; exit 3"}
	h.Interval = 100 * time.Millisecond
	t.Setenv("PATH", "/bin:/usr/bin")
	s := Start(Config{Handlers: []Handler{h}, Env: func() []string { return []string{"LNETD_NIDS=10.0.0.1@tcp"} }, Log: slog.New(slog.DiscardHandler)})
	defer s.Wait(t.Context())
	defer s.End()
	r, err := s.Test(t.Context(), "h")
	if err != nil {
		t.Fatal(err)
	}
	begin := `{"version":1,"handler":"h","missed":0,"events":[{"source":"test","time":"`
	end := `","event":"test"}]}
LNETD_EVENTS=1
LNETD_HANDLER=h
LNETD_MISSED=0
LNETD_NIDS=10.0.0.1@tcp
PATH=/bin:/usr/bin
`
	if !strings.HasPrefix(r.Output, begin) || !strings.HasSuffix(r.Output, end) || r.Exit != 3 || !r.Failed() || r.TimeOver || r.Events != 1 {
		t.Errorf("%+v", r)
	}
	if _, err := s.Test(t.Context(), "g"); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
}

// TestHang: a program that hangs is ended, and the next batch is handled.
func TestHang(t *testing.T) {
	h := handlerOf("h")
	h.Program, h.Timeout, h.Interval = []string{"/bin/sh", "-c", "exec sleep 1000"}, 50*time.Millisecond, 100*time.Millisecond
	s := Start(Config{Handlers: []Handler{h}, Log: slog.New(slog.DiscardHandler)})
	defer s.Wait(t.Context())
	defer s.End()
	for range 2 {
		r, err := s.Test(t.Context(), "h")
		if err != nil || !r.TimeOver || r.Exit != -15 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if status := s.Status()[0]; status.Runs != 2 || status.TimedOut != 2 || status.Failures != 2 {
		t.Errorf("%+v", status)
	}
}

// TestMissingProgram: a missing program is reported at the start and in the status.
func TestMissingProgram(t *testing.T) {
	h := handlerOf("h")
	h.Program = []string{"/nowhere/program"}
	var log bytes.Buffer
	s := Start(Config{Handlers: []Handler{h}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if status := s.Status()[0]; !strings.Contains(status.Problem, "/nowhere/program") || !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "/nowhere/program") {
		t.Errorf("%+v\n%s", status, &log)
	}
	r, err := s.Test(t.Context(), "h")
	if err != nil || r.Error == "" || !r.Failed() {
		t.Errorf("%+v, %v", r, err)
	}
	s.End()
	if err := s.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}
