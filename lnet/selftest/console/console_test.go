package console_test

import (
	"errors"
	"syscall"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/selftest"
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/console/engine"
)

const key = 100

// TestSession: the nodes of a group, of which one is the console's own node, join the session. They report it
// when they are asked, and leave it at its end.
func TestSession(t *testing.T) {
	spec.Covers(t, "ST-23", "ST-24")
	l := newLab(t, 3, 1, selftest.Config{})
	l.must(0, &console.NewSession{Key: key, Name: "one", Features: 1})
	if got := l.must(0, &engine.AddGroup{Key: key, Name: "all", IDs: processes(0, 1, 2)}); len(got) != 3 {
		t.Errorf("%+v", got)
	}
	for _, a := range l.must(0, &engine.Ping{Key: key, Target: console.Target{Group: "all"}}) {
		if a.State != console.Active || a.Name != "one" || a.Latency <= 0 && a.ID != process(0) {
			t.Errorf("%+v", a)
		}
	}
	s, err := l.consoles[0].Session()
	if err != nil || s.Nodes != (console.Counts{Active: 3, Total: 3}) || s.ID.Console != process(0).NID {
		t.Errorf("%+v, %v", s, err)
	}
	if got := l.agents[1].Status(); got.Session != s.ID.String() || got.Name != "one" {
		t.Errorf("%+v", got)
	}
	if g, err := l.consoles[0].Group("all"); err != nil || g.Counts.Active != 3 || g.Nodes[1].ID != process(1) {
		t.Errorf("%+v, %v", g, err)
	}
	l.must(0, &engine.EndSession{Key: key})
	for i, a := range l.agents {
		if got := a.Status().Session; got != "none" {
			t.Errorf("node %d has the session %s", i, got)
		}
	}
	if _, err := l.consoles[0].Session(); !errors.Is(err, syscall.ESRCH) {
		t.Error(err)
	}
}

// TestStates: the console knows of each node whether it has this session, another one, or none,
// and whether it answers.
func TestStates(t *testing.T) {
	spec.Covers(t, "ST-24")
	l := newLab(t, 4, 2, selftest.Config{})
	l.must(0, &console.NewSession{Key: key, Name: "one", Features: 1})
	l.must(1, &console.NewSession{Key: key, Name: "two", Features: 1})
	l.must(1, &engine.AddGroup{Key: key, Name: "g", IDs: processes(2)})
	l.fabric.Crash(3)
	r, err := l.do(0, &engine.AddGroup{Key: key, Name: "all", IDs: processes(1, 2, 3)})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []console.Answer{
		{State: console.Active}, {State: console.Busy, Status: syscall.EBUSY, Name: "two"}, {State: console.Down, Failed: syscall.ETIMEDOUT},
	} {
		got := r.Answers[i]
		if got.State != want.State || got.Status != want.Status || got.Failed != want.Failed || got.Name != want.Name {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	var g console.Group
	if g, err = l.consoles[0].Group("all"); err != nil || g.Counts != (console.Counts{Active: 1, Busy: 1, Down: 1, Total: 3}) {
		t.Errorf("%+v, %v", g, err)
	}
	for i, want := range []console.State{console.Active, console.Busy, console.Down} {
		if got := g.Nodes[i]; got != (console.Node{ID: process(i + 1), State: want}) {
			t.Errorf("%+v, want %v", got, want)
		}
	}
}

// TestStranger: a node without a session can be pinged and is not in the session afterwards.
func TestStranger(t *testing.T) {
	l := newLab(t, 2, 1, selftest.Config{})
	l.must(0, &console.NewSession{Key: key, Name: "one", Features: 1})
	r, err := l.do(0, &engine.Ping{Key: key, Target: console.Target{Nodes: processes(1)}})
	if err != nil || len(r.Answers) != 1 || r.Answers[0].State != console.Unknown || r.Answers[0].Status != syscall.ESRCH {
		t.Errorf("%+v, %v", r.Answers, err)
	}
	if s, err := l.consoles[0].Session(); err != nil || s.Nodes.Total != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestErrors: an error has the errno of a kernel's console and says what to do.
func TestErrors(t *testing.T) {
	l := newLab(t, 2, 1, selftest.Config{})
	l.must(0, &console.NewSession{Key: key, Name: "one", Features: 1})
	_, err := l.do(0, &engine.AddGroup{Key: key + 1, Name: "all", IDs: processes(1)})
	e, ok := errors.AsType[*console.Error](err)
	if !ok || e.Errno != syscall.EACCES || e.Hint == "" {
		t.Errorf("%v", err)
	}
}

// TestClose: a console that is closed has removed its session from the nodes, and ends commands.
func TestClose(t *testing.T) {
	l := newLab(t, 2, 1, selftest.Config{})
	l.must(0, &console.NewSession{Key: key, Name: "one", Features: 1})
	if err := l.consoles[0].Close(t.Context()); err != nil {
		t.Error(err)
	}
	var s console.Session
	s, err := l.consoles[0].NewSession(t.Context(), console.NewSession{Key: key, Name: "two"})
	if !errors.Is(err, console.ErrClosed) {
		t.Errorf("%+v, %v", s, err)
	}
}
