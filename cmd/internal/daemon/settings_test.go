package daemon

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest/spec"
)

// TestSettings: each reload is announced to the service manager at its beginning and its end, also if
// it fails, and logged. After Close, a reload is refused.
func TestSettings(t *testing.T) {
	spec.Covers(t, "OP-3", "OP-7", "OP-8")
	var calls []string
	var log bytes.Buffer
	l := &config.Loaded{Config: config.Default()}
	l.Networks = "lo"
	n, err := node.New(node.Config{Config: l.Config})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	s := NewSettings(l, n, NewLog(cli.Env{Stderr: &log, Getenv: func(string) string { return "" }}, new(bytes.Buffer), &l.Config))
	s.Begin, s.End = func() { calls = append(calls, "begin") }, func() { calls = append(calls, "end") }
	next := *l
	var broken error
	s.Load = func() (*config.Loaded, error) { c := next; return &c, broken }

	broken = &config.Error{File: "f", Line: 3, Err: errors.New("wrong")}
	if _, err := s.Reload(t.Context()); !errors.Is(err, syscall.EINVAL) || !strings.Contains(log.String(), "f:3: wrong") {
		t.Errorf("%v, log %s", err, &log)
	}
	broken = nil
	next.Sources = []config.Source{{Key: "credits", Value: "9", From: "f:1"}, {Key: "zone.name", Value: "z", From: "f:3"}}
	_, err = s.Reload(t.Context())
	if want := "f:1: credits: 256 -> 9 needs a restart\nf:3: zone.name: \"\" -> z needs a restart"; !errors.Is(err, syscall.EBUSY) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if got := waiting(t, s); !slices.Equal(got, []string{"credits 9", "zone.name z"}) {
		t.Errorf("%q wait for a restart", got)
	}
	next.Sources = []config.Source{{Key: "log_format", Value: "json", From: "f:1"}, {Key: "log_level", Value: "debug", From: "f:2"}}
	next.LogFormat, next.LogLevel = config.LogJSON, -4
	if r, err := s.Reload(t.Context()); err != nil || !slices.Equal(r.Changed, []string{"log_level: debug", "log_format: json"}) {
		t.Errorf("%q, %v", r.Changed, err)
	}
	if got := waiting(t, s); len(got) != 0 {
		t.Errorf("%q still wait for a restart", got)
	}
	if r, err := s.Reload(t.Context()); err != nil || r.Changed == nil || len(r.Changed) != 0 {
		t.Errorf("%v, %v", r.Changed, err)
	}
	s.Close(t.Context())
	if _, err := s.Reload(t.Context()); !errors.Is(err, syscall.ESHUTDOWN) {
		t.Errorf("after Close: %v", err)
	}
	if want := slices.Repeat([]string{"begin", "end"}, 4); !slices.Equal(calls, want) {
		t.Errorf("called %q", calls)
	}
}

// TestCloseDuringReload: while a reload hangs, the settings can be shown, and Close waits no longer
// than its context.
func TestCloseDuringReload(t *testing.T) {
	spec.Covers(t, "OP-5")
	l := &config.Loaded{Config: config.Default()}
	l.Networks = "lo"
	n, err := node.New(node.Config{Config: l.Config})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	s := NewSettings(l, n, NewLog(cli.Env{Stderr: new(bytes.Buffer), Getenv: func(string) string { return "" }}, new(bytes.Buffer), &l.Config))
	begun, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	s.Load = func() (*config.Loaded, error) {
		close(begun)
		<-goOn
		return l, nil
	}
	go func() {
		defer close(ended)
		_, _ = s.Reload(context.Background())
	}()
	<-begun
	if _, err := s.Show(); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.Close(ctx)
	close(goOn)
	<-ended
}

// waiting lists the values that wait for a restart.
func waiting(t *testing.T, s *Settings) (list []string) {
	t.Helper()
	values, err := s.Show()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range values {
		if v.Next != nil {
			list = append(list, v.Key+" "+*v.Next)
		}
	}
	return list
}
