package selftest

import (
	"context"
	"errors"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/wire"
)

// TestNoConsole: without the setting, every operation of the console returns an error with a hint
// that says how to enable the console.
func TestNoConsole(t *testing.T) {
	m := start(t, func(*config.Config) {})
	ctx := t.Context()
	for name, do := range map[string]func() error{
		"session":     func() error { _, err := m.session(); return err },
		"new session": func() error { _, err := m.newSession(ctx, NewSessionRequest{Key: 1, Name: "s"}); return err },
		"end session": func() error { _, err := m.endSession(ctx, control.None{}); return err },
		"groups":      func() error { _, err := m.groups(); return err },
		"add group":   func() error { _, err := m.addGroup(ctx, GroupRequest{Name: "g"}); return err },
		"ping":        func() error { _, err := m.ping(ctx, AskRequest{}); return err },
		"stat":        func() error { _, err := m.stat(ctx, AskRequest{}); return err },
		"add batch":   func() error { return m.addBatch(ctx, BatchRequest{Batch: "b"}) },
		"add test":    func() error { _, err := m.addTest(ctx, TestRequest{}); return err },
		"run":         func() error { _, err := m.run(ctx, BatchRequest{}); return err },
	} {
		if err := do(); !errors.Is(err, syscall.ENODEV) || cli.HintOf(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestConsoleErrors: errors of the console keep their errno and their hint.
func TestConsoleErrors(t *testing.T) {
	m := start(t, func(c *config.Config) { c.Selftest = true })
	if _, err := m.session(); !errors.Is(err, syscall.ESRCH) || cli.HintOf(err) == "" {
		t.Errorf("no session: %v, hint %q", err, cli.HintOf(err))
	}
	if _, err := m.newSession(t.Context(), NewSessionRequest{Key: 1, Name: "s", Features: wire.KnownFeatures}); !errors.Is(err, syscall.EADDRNOTAVAIL) || cli.HintOf(err) == "" {
		t.Errorf("a session of a node without NIDs: %v, hint %q", err, cli.HintOf(err))
	}
}

// TestConsole: a node tests itself, by all operations of its console.
func TestConsole(t *testing.T) {
	addr := netip.MustParseAddr("127.0.0.67")
	port, err := loopback.FreePort(addr)
	if err != nil {
		t.Fatal(err)
	}
	m := start(t, func(c *config.Config) {
		c.Selftest, c.Networks, c.AcceptPort = true, "tcp("+addr.String()+")", int(port)
	})
	ctx := t.Context()
	self := nid.ProcessID{NID: m.NIDs()[0], PID: nid.LustrePID}
	const key, limit = 7, time.Minute
	fine := func(step string, answers []console.Answer, err error, want int) []console.Answer {
		t.Helper()
		if err != nil || len(answers) != want {
			t.Fatalf("%s: %+v, %v, want %d answers", step, answers, err, want)
		}
		for i := range answers {
			if !answers[i].OK() {
				t.Fatalf("%s: %+v", step, answers[i])
			}
		}
		return answers
	}
	s, err := m.newSession(ctx, NewSessionRequest{Key: key, Name: "s", Timeout: time.Minute, Features: wire.KnownFeatures})
	if err != nil || s.Name != "s" || s.Timeout != time.Minute || s.Key != key {
		t.Fatalf("%+v, %v", s, err)
	}
	one := GroupRequest{Key: key, Name: "g", Nodes: []nid.ProcessID{self}}
	answers, err := m.addGroup(ctx, one)
	fine("add group", answers, err, 1)
	answers, err = m.addNodes(ctx, one)
	fine("add a node again", answers, err, 0)
	answers, err = m.refreshGroup(ctx, one)
	fine("refresh", answers, err, 0)
	answers, err = m.cleanGroup(ctx, CleanRequest{Key: key, Name: "g", States: []console.State{console.Down}})
	fine("clean", answers, err, 0)
	if groups, err := m.groups(); err != nil || len(groups) != 1 || groups[0].Nodes != nil || groups[0].Counts.Active != 1 {
		t.Errorf("%+v, %v", groups, err)
	}
	if g, err := m.group(Named{"g"}); err != nil || len(g.Nodes) != 1 {
		t.Errorf("%+v, %v", g, err)
	}
	answers, err = m.ping(ctx, AskRequest{key, console.Target{Group: "g"}, limit})
	if a := fine("ping", answers, err, 1)[0]; a.Name != "s" || a.State != console.Active {
		t.Errorf("%+v", a)
	}
	if err := m.addBatch(ctx, BatchRequest{Key: key, Batch: "b"}); err != nil {
		t.Fatal(err)
	}
	test := console.Test{Batch: "b", From: "g", To: "g", Service: wire.PingService, Loop: -1, Concurrency: 1, Distribute: 1, Span: 1}
	answers, err = m.addTest(ctx, TestRequest{key, test})
	fine("add test", answers, err, 2)
	endless(ctx, t, m, key)
	if err := m.addBatch(ctx, BatchRequest{Key: key + 1, Batch: "c"}); !errors.Is(err, syscall.EACCES) || cli.HintOf(err) == "" {
		t.Errorf("another key: %v", err)
	}
	answers, err = m.endSession(ctx, control.None{})
	fine("end session", answers, err, 1)
	if _, err := m.session(); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("after the end of the session: %v", err)
	}
}

// endless runs the batch b and stops it. Its only test is endless, and the node is both its client
// and its server.
func endless(ctx context.Context, t *testing.T, m *Module, key uint32) {
	t.Helper()
	r := BatchRequest{Key: key, Batch: "b", Timeout: time.Minute}
	if answers, err := m.run(ctx, r); err != nil || len(answers) != 1 || !answers[0].OK() {
		t.Fatalf("run: %+v, %v", answers, err)
	}
	if answers, err := m.query(ctx, r); err != nil || answers[0].Active != 1 {
		t.Fatalf("query: %+v, %v", answers, err)
	}
	if b, err := m.batch(Named{"b"}); err != nil || !b.Running || len(b.Tests) != 1 {
		t.Errorf("%+v, %v", b, err)
	}
	if answers, err := m.stat(ctx, AskRequest{key, console.Target{Batch: "b"}, r.Timeout}); err != nil || answers[0].Stat.RPC.Sent == 0 {
		t.Errorf("stat: %+v, %v", answers, err)
	}
	r.Force = true
	if answers, err := m.stop(ctx, r); err != nil || !answers[0].OK() {
		t.Fatalf("stop: %+v, %v", answers, err)
	}
	if answers, err := m.query(ctx, r); err != nil || answers[0].Active != 0 {
		t.Fatalf("query: %+v, %v", answers, err)
	}
	if list, err := m.batches(); err != nil || len(list) != 2 || list[1].Running {
		t.Errorf("%+v, %v", list, err)
	}
}
