package engine_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/console/engine"
	"ulnet/lnet/selftest/wire"
)

// TestSession checks the errors of making a session, and of commands with another key.
func TestSession(t *testing.T) {
	spec.Covers(t, "ST-23")
	l := newLab(t, 2, engine.Config{})
	for _, tt := range []struct {
		want engine.NewSession
		err  syscall.Errno
	}{
		{engine.NewSession{Name: ""}, syscall.EINVAL},
		{engine.NewSession{Name: strings.Repeat("x", 32)}, syscall.EINVAL},
		{engine.NewSession{Name: "a\x00b"}, syscall.EINVAL},
		{engine.NewSession{Name: "x", Features: 2}, syscall.EINVAL},
		{engine.NewSession{Name: "x", Timeout: -1}, syscall.EINVAL},
		{engine.NewSession{Name: "x", Timeout: time.Second - 1}, syscall.EINVAL},
		{engine.NewSession{Name: "x", Timeout: 1 << 62}, syscall.EINVAL},
	} {
		l.fails(0, &tt.want, tt.err)
	}
	got := l.do(0, &engine.NewSession{Key: 7, Name: strings.Repeat("x", 31), Features: 1})
	want := engine.Session{
		Name: strings.Repeat("x", 31), ID: wire.Session{Console: hostID(0).NID, Stamp: 1001}, Key: 7, Features: 1, Timeout: 300 * time.Second,
	}
	if got.err != nil || got.Session != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	l.fails(0, &engine.NewSession{Key: 7, Name: "two", Features: 1}, syscall.EOPNOTSUPP)
	l.fails(0, &engine.NewSession{Key: 8, Name: "two", Features: 1}, syscall.EEXIST)
	for _, c := range []engine.Command{
		&engine.EndSession{Key: 8}, &engine.AddGroup{Key: 8, Name: "g"}, &engine.AddBatch{Key: 8, Name: "b"}, &engine.AddTest{Key: 8},
		&engine.Run{Key: 8, Batch: "batch"}, &engine.Stop{Key: 8, Batch: "batch"}, &engine.Query{Key: 8, Batch: "batch"},
		&engine.Ping{Key: 8, Target: engine.Target{Session: true}}, &engine.Stat{Key: 8, Target: engine.Target{Session: true}},
		&engine.DeleteGroup{Key: 8, Group: "g"}, &engine.RemoveNodes{Key: 8, Group: "g"}, &engine.CleanGroup{Key: 8, Group: "g"}, &engine.RefreshGroup{Key: 8, Group: "g"},
	} {
		l.fails(0, c, syscall.EACCES)
	}
	l.must(0, &engine.EndSession{Key: 7})
	l.fails(0, &engine.EndSession{Key: 7}, syscall.ESRCH)
}

// TestAddress: a node without a NID with an IPv4 address cannot be a console.
func TestAddress(t *testing.T) {
	spec.Covers(t, "ST-23")
	for _, id := range []nid.NID{{}, nid.Lo0(), nid.MustParse("fd00::1@tcp")} {
		c, err := engine.New(engine.Config{FirstID: 1})
		if err != nil {
			t.Fatal(err)
		}
		var out engine.Output
		c.Step(0, engine.Input{Kind: engine.Do, ID: 1, Command: &engine.NewSession{Name: "x"}, Self: id}, &out)
		if e := out.Effects[0]; e.Kind != engine.DoAnswer || !isErrno(e.Err, syscall.EADDRNOTAVAIL) {
			t.Errorf("%v: %+v", id, e)
		}
	}
	if _, err := engine.New(engine.Config{}); err == nil {
		t.Error("a console without FirstID is made")
	}
}

// TestStamps: sessions that are made at one instant have different stamps, and a session that is made
// later has a greater stamp.
func TestStamps(t *testing.T) {
	spec.Covers(t, "ST-23")
	l := newLab(t, 1, engine.Config{})
	latest := int64(0)
	for i := range 5 {
		got := l.do(0, &engine.NewSession{Key: key, Name: "x", Force: true, Features: 1}).Session.ID.Stamp
		if got <= latest || got < 1000+l.now.Milliseconds() {
			t.Errorf("stamp %d after %d, at %v", got, latest, l.now)
		}
		if latest = got; i == 2 {
			l.run(time.Second)
		}
	}
	if latest < 2000 {
		t.Errorf("after a second the stamp is %d", latest)
	}
}

// TestForce: a new session with Force ends the earlier session of the same console at its nodes, and takes nodes from
// another console.
func TestForce(t *testing.T) {
	spec.Covers(t, "ST-23")
	l := newLab(t, 3, engine.Config{})
	l.open(1, 2)
	old, err := l.host(0).console.Session()
	if err != nil {
		t.Fatal(err)
	}
	l.must(0, &engine.NewSession{Key: 2, Name: "two", Force: true, Features: 1})
	for i := 1; i <= 2; i++ {
		got := l.host(i).took(wire.TypeRemoveSession)
		if len(got) != 1 || got[0].Body.(*wire.RemoveSession).Session != old.ID {
			t.Errorf("node %d got %+v", i, got)
		}
	}
	l.must(0, &engine.AddGroup{Key: 2, Name: "g", IDs: hostIDs(1, 2)})
	l.must(1, &engine.NewSession{Key: 3, Name: "three", Features: 1})
	if got := l.do(1, &engine.AddGroup{Key: 3, Name: "g", IDs: hostIDs(2)}).Answers; len(got) != 1 || got[0].Status != syscall.EBUSY || got[0].Name != "two" {
		t.Errorf("%+v", got)
	}
	l.must(1, &engine.NewSession{Key: 3, Name: "three", Force: true, Features: 1}, &engine.AddGroup{Key: 3, Name: "g", IDs: hostIDs(2)})
	if got := l.host(2).node.Stats(); got.Name != "three" {
		t.Errorf("%+v", got)
	}
}

// TestEndStopsCommands: the end of a session ends commands that wait, and commands that come
// while nodes leave are refused.
func TestEndStopsCommands(t *testing.T) {
	spec.Covers(t, "ST-23", "ST-30")
	l := newLab(t, 3, engine.Config{MaxCalls: 1})
	l.open(1)
	l.lost = func(_, to *host, _ wire.Service) bool { return to.id == hostID(2) }
	waits, _ := l.begin(0, &engine.AddNodes{Key: key, Group: "g", IDs: hostIDs(2)})
	queued, _ := l.begin(0, &engine.Ping{Key: key, Target: engine.Target{Nodes: hostIDs(1)}})
	end, _ := l.begin(0, &engine.EndSession{Key: key})
	for _, a := range []*answer{waits, queued} {
		if !a.over || !isErrno(a.err, syscall.ESHUTDOWN) || len(a.Answers) != 1 || a.Answers[0].Failed != syscall.ESHUTDOWN {
			t.Errorf("%+v", a)
		}
	}
	l.fails(0, &engine.AddBatch{Key: key, Name: "b"}, syscall.ESHUTDOWN)
	l.fails(0, &engine.NewSession{Key: key, Name: "x", Force: true, Features: 1}, syscall.ESHUTDOWN)
	if _, err := l.host(0).console.Groups(); !isErrno(err, syscall.ESHUTDOWN) {
		t.Error(err)
	}
	if l.run(time.Millisecond); l.host(1).node.Stats().Session != wire.NoSession() {
		t.Errorf("%+v", l.host(1).node.Stats())
	}
	if l.run(3 * time.Second); !end.over || end.err != nil || len(end.Answers) != 2 || !end.Answers[0].OK() || end.Answers[1].Failed != syscall.ETIMEDOUT {
		t.Errorf("%+v", end) // node 2 is asked to leave, too, because it may have made the session
	}
}

// TestIdle: a session without commands ends after its time-out, and its nodes leave it. Commands
// put the end off, and so does a user that looks at the session.
func TestIdle(t *testing.T) {
	spec.Covers(t, "ST-29")
	l := newLab(t, 2, engine.Config{})
	l.must(0, &engine.NewSession{Key: key, Name: "one", Timeout: 20 * time.Second, Features: 1}, &engine.AddGroup{Key: key, Name: "g", IDs: hostIDs(1)})
	l.run(15 * time.Second)
	l.must(0, &engine.Ping{Key: key, Target: engine.Target{Group: "g"}})
	l.run(15 * time.Second)
	l.host(0).stepConsole(engine.Input{Kind: engine.Used})
	l.run(19 * time.Second)
	if s, err := l.host(0).console.Session(); err != nil || s.Nodes.Active != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	l.run(2 * time.Second)
	if _, err := l.host(0).console.Session(); !isErrno(err, syscall.ESRCH) {
		t.Error(err)
	}
	if got := l.host(1).took(wire.TypeRemoveSession); len(got) != 1 {
		t.Errorf("%+v", got)
	}
	l.open(1)
}

// TestIdleRefused: a command that is refused keeps the session only if it has the session's key and is not to make
// another session. So a session that was left ends, although other users try to make theirs until then.
func TestIdleRefused(t *testing.T) {
	spec.Covers(t, "ST-29")
	for name, tt := range map[string]struct {
		command engine.Command
		errno   syscall.Errno
		keeps   bool
	}{
		"new session of another key": {&engine.NewSession{Key: 9, Name: "two", Features: 1}, syscall.EEXIST, false},
		"new session of the key":     {&engine.NewSession{Key: key, Name: "two", Features: 1}, syscall.EOPNOTSUPP, false},
		"another key":                {&engine.Run{Key: 9, Batch: "batch"}, syscall.EACCES, false},
		"the key":                    {&engine.Run{Key: key, Batch: "none"}, syscall.ENOENT, true},
	} {
		l := newLab(t, 2, engine.Config{})
		l.must(0, &engine.NewSession{Key: key, Name: "one", Timeout: 20 * time.Second, Features: 1}, &engine.AddGroup{Key: key, Name: "g", IDs: hostIDs(1)})
		for range 2 {
			l.run(9 * time.Second)
			l.fails(0, tt.command, tt.errno)
		}
		l.run(3 * time.Second)
		if got := l.host(1).node.Stats().Session; (got != wire.NoSession()) != tt.keeps {
			t.Errorf("%s: the node has the session %v", name, got)
		}
	}
}

// TestIdleCommand: a command that waits for nodes keeps the session.
func TestIdleCommand(t *testing.T) {
	spec.Covers(t, "ST-29")
	l := newLab(t, 2, engine.Config{})
	l.must(0, &engine.NewSession{Key: key, Name: "one", Timeout: 5 * time.Second, Features: 1})
	l.host(1).dead = true
	if got := l.do(0, &engine.AddGroup{Key: key, Name: "g", IDs: hostIDs(1)}); got.err != nil || got.Answers[0].Failed != syscall.ETIMEDOUT {
		t.Errorf("%+v", got)
	}
	l.run(4 * time.Second)
	if _, err := l.host(0).console.Session(); err != nil {
		t.Error(err)
	}
}

// TestPings: nodes that are silent for half their time-out are pinged, so that their sessions last. A
// node that has answered other requests is not pinged. A node that was down becomes active again.
func TestPings(t *testing.T) {
	spec.Covers(t, "ST-29")
	l := newLab(t, 3, engine.Config{})
	l.must(0, &engine.NewSession{Key: key, Name: "one", Timeout: time.Hour, Features: 1}, &engine.AddGroup{Key: key, Name: "g", IDs: hostIDs(1, 2)})
	for range 20 {
		l.run(30 * time.Second)
		l.must(0, &engine.Ping{Key: key, Target: engine.Target{Nodes: hostIDs(2)}})
	}
	if got := len(l.host(1).took(wire.TypeDebug)); got < 9 || got > 12 {
		t.Errorf("the silent node got %d pings in 10 minutes", got)
	}
	if got := len(l.host(2).took(wire.TypeDebug)); got != 20 {
		t.Errorf("the other node got %d pings", got)
	}
	l.lost = func(_, to *host, _ wire.Service) bool { return to.id == hostID(1) }
	if l.run(95 * time.Second); l.states("g")[0] != engine.Down {
		t.Errorf("%v", l.states("g"))
	}
	l.lost = func(*host, *host, wire.Service) bool { return false }
	if l.run(60 * time.Second); l.states("g")[0] == engine.Down {
		t.Errorf("%v", l.states("g"))
	}
}

// TestConsoleDies: nodes give up the session of a console that is gone, and another console gets
// them without force.
func TestConsoleDies(t *testing.T) {
	spec.Covers(t, "ST-29")
	l := newLab(t, 3, engine.Config{})
	l.open(1, 2)
	l.host(0).dead = true
	l.run(101 * time.Second)
	l.must(1, &engine.NewSession{Key: key, Name: "two", Features: 1}, &engine.AddGroup{Key: key, Name: "g", IDs: hostIDs(1, 2)})
}
