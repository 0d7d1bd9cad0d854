package engine_test

import (
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/console/engine"
	"ulnet/lnet/selftest/wire"
)

func isErrno(err error, want syscall.Errno) bool { return errors.Is(err, want) }

// TestStates: the state of a node follows from the session in any reply, and from silence.
func TestStates(t *testing.T) {
	spec.Covers(t, "ST-24")
	l := newLab(t, 5, engine.Config{})
	l.must(4, &engine.NewSession{Key: key, Name: "other", Features: 1}, &engine.AddGroup{Key: key, Name: "g", IDs: hostIDs(2)})
	l.must(0, &engine.NewSession{Key: key, Name: "one", Features: 1})
	l.refuse = syscall.EHOSTUNREACH
	l.host(3).dead = true
	got := l.do(0, &engine.AddGroup{Key: key, Name: "g", IDs: hostIDs(1, 2, 3)}).Answers
	if len(got) != 3 || !got[0].OK() || got[1].Status != syscall.EBUSY || got[1].Session.Console != hostID(4).NID || got[2].Failed != syscall.EHOSTUNREACH {
		t.Errorf("%+v", got)
	}
	want := []engine.State{engine.Active, engine.Busy, engine.Unknown}
	if got := l.states("g"); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	l.must(4, &engine.EndSession{Key: key})
	l.host(3).dead = false
	ping := &engine.Ping{Key: key, Target: engine.Target{Group: "g"}}
	if got := l.do(0, ping).Answers; got[0].Name != "one" || got[1].Status != syscall.ESRCH || got[2].Status != syscall.ESRCH {
		t.Errorf("%+v", got)
	}
	if got, want := l.states("g"), []engine.State{engine.Active, engine.Unknown, engine.Unknown}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := l.must(0, &engine.RefreshGroup{Key: key, Group: "g"}); len(got) != 2 {
		t.Errorf("%+v", got)
	}
	l.must(0, ping)
	l.host(1).dead = true // an active node that cannot be reached is down
	l.do(0, ping)
	if got, want := l.states("g"), []engine.State{engine.Down, engine.Active, engine.Active}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	l.refuse = 0
	l.host(2).dead = true // an active node that does not answer is down, too
	if got := l.do(0, ping).Answers; got[1].Failed != syscall.ETIMEDOUT || got[1].Latency != 3*time.Second {
		t.Errorf("%+v", got)
	}
	if got, want := l.states("g"), []engine.State{engine.Down, engine.Down, engine.Active}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, state := range []engine.State{engine.Active, engine.Busy, engine.Down, engine.Unknown} {
		var again engine.State
		if text, err := state.MarshalText(); err != nil || again.UnmarshalText(text) != nil || again != state {
			t.Errorf("%v becomes %v", state, again)
		}
	}
}

// TestShared: two groups share a node. The node joins the session once, and leaves it when the last
// of its groups is deleted or no longer has the node.
func TestShared(t *testing.T) {
	spec.Covers(t, "ST-24")
	l := newLab(t, 3, engine.Config{})
	l.open(1, 2)
	l.must(0, &engine.AddGroup{Key: key, Name: "h", IDs: hostIDs(1)}, &engine.AddNodes{Key: key, Group: "h", IDs: hostIDs(1, 1)})
	if got := l.host(1).took(wire.TypeMakeSession); len(got) != 1 {
		t.Errorf("%d requests to join", len(got))
	}
	if got := l.must(0, &engine.DeleteGroup{Key: key, Group: "h"}); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	l.must(0, &engine.AddGroup{Key: key, Name: "h", IDs: hostIDs(1)}, &engine.RemoveNodes{Key: key, Group: "g", IDs: hostIDs(1, 0)})
	if got := l.host(1).took(wire.TypeRemoveSession); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	l.must(0, &engine.RemoveNodes{Key: key, Group: "h", IDs: hostIDs(1)})
	if got := l.host(1).took(wire.TypeRemoveSession); len(got) != 1 {
		t.Errorf("%+v", got)
	}
	if _, err := l.host(0).console.Group("h"); !isErrno(err, syscall.ENOENT) {
		t.Errorf("a group without nodes: %v", err)
	}
	l.must(0, &engine.CleanGroup{Key: key, Group: "g", States: []engine.State{engine.Busy, engine.Down, engine.Unknown}})
	if got := l.states("g"); len(got) != 1 {
		t.Errorf("%v", got)
	}
	l.must(0, &engine.CleanGroup{Key: key, Group: "g", States: []engine.State{engine.Active}})
	if s, err := l.host(0).console.Session(); err != nil || s.Nodes.Total != 0 || len(l.host(2).took(wire.TypeRemoveSession)) != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestCounted: a node whose replies were lost has counted several requests to join, and is asked
// to leave as often. A node that has counted only one is asked once.
func TestCounted(t *testing.T) {
	spec.Covers(t, "ST-24")
	l := newLab(t, 3, engine.Config{})
	l.must(0, &engine.NewSession{Key: key, Name: "one", Features: 1})
	lostReplies, lostRequests := true, true
	l.lost = func(from, to *host, s wire.Service) bool {
		return lostReplies && from.id == hostID(1) || lostRequests && to.id == hostID(2)
	}
	l.do(0, &engine.AddGroup{Key: key, Name: "g", IDs: hostIDs(1, 2)})
	l.do(0, &engine.RefreshGroup{Key: key, Group: "g"})
	if got := l.states("g"); got[0] != engine.Down || got[1] != engine.Down {
		t.Errorf("%v", got)
	}
	lostReplies, lostRequests = false, false
	l.must(0, &engine.RefreshGroup{Key: key, Group: "g"}, &engine.EndSession{Key: key})
	for i, want := range []int{1: 3, 2: 1} {
		if i == 0 {
			continue
		}
		if got := l.host(i).took(wire.TypeRemoveSession); len(got) != want {
			t.Errorf("node %d was asked %d times to leave, want %d", i, len(got), want)
		}
		if got := l.host(i).node.Stats().Session; got != wire.NoSession() {
			t.Errorf("node %d has the session %v", i, got)
		}
	}
}

// TestFeatures: the first node that joins decides whether the session has the feature BULK_LEN. A node with other
// features is refused.
func TestFeatures(t *testing.T) {
	spec.Covers(t, "ST-24")
	l := newLab(t, 4, engine.Config{})
	features := wire.Features(0)
	old := func(m *wire.Message) *wire.Message {
		b, ok := m.Body.(*wire.MakeSession)
		if !ok {
			return nil
		}
		return &wire.Message{Header: wire.Header{Features: features}, Body: &wire.MakeSessionReply{Session: b.Session, Timeout: 100}}
	}
	l.host(1).fake = old
	l.open(1)
	if s, err := l.host(0).console.Session(); err != nil || s.Features != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	l.must(0, &engine.AddNodes{Key: key, Group: "g", IDs: hostIDs(2)})
	l.host(3).fake = old
	for _, features = range []wire.Features{1, 2, 1 << 31} {
		if got := l.do(0, &engine.RefreshGroup{Key: key, Group: "g"}); got.err != nil {
			t.Error(got.err)
		}
		got := l.do(0, &engine.AddGroup{Key: key, Name: "h", IDs: hostIDs(3)})
		if got.err != nil || len(got.Answers) != 1 || got.Answers[0].Status != syscall.EPROTO {
			t.Errorf("features %#x: %+v", uint32(features), got)
		}
		l.do(0, &engine.DeleteGroup{Key: key, Group: "h"})
	}
}

// TestGroupErrors checks the errors of commands about groups.
func TestGroupErrors(t *testing.T) {
	spec.Covers(t, "ST-30")
	l := newLab(t, 4, engine.Config{MaxNodes: 2, MaxGroups: 2, MaxMembers: 3, MaxBatches: 2})
	l.open(1, 2)
	l.fails(0, &engine.AddGroup{Key: key, Name: "g"}, syscall.EEXIST)
	l.fails(0, &engine.AddGroup{Key: key, Name: ""}, syscall.EINVAL)
	l.fails(0, &engine.AddNodes{Key: key, Group: "none"}, syscall.ENOENT)
	l.fails(0, &engine.DeleteGroup{Key: key, Group: "none"}, syscall.ENOENT)
	l.fails(0, &engine.RemoveNodes{Key: key, Group: "none"}, syscall.ENOENT)
	l.fails(0, &engine.CleanGroup{Key: key, Group: "none"}, syscall.ENOENT)
	l.fails(0, &engine.RefreshGroup{Key: key, Group: "none"}, syscall.ENOENT)
	l.fails(0, &engine.AddNodes{Key: key, Group: "g", IDs: hostIDs(3)}, syscall.ENOSPC)
	for id, want := range map[string]syscall.Errno{"0@lo": syscall.EINVAL, "fd00::1@tcp": syscall.EAFNOSUPPORT} {
		l.fails(0, &engine.AddNodes{Key: key, Group: "g", IDs: []nid.ProcessID{process(id)}}, want)
		l.fails(0, &engine.Ping{Key: key, Target: engine.Target{Nodes: []nid.ProcessID{process(id)}}}, want)
	}
	l.fails(0, &engine.AddNodes{Key: key, Group: "g", IDs: []nid.ProcessID{{}}}, syscall.EINVAL)
	for _, pid := range []nid.PID{0, nid.PIDAny} {
		l.fails(0, &engine.AddNodes{Key: key, Group: "g", IDs: []nid.ProcessID{{NID: hostIDs(1)[0].NID, PID: pid}}}, syscall.EINVAL)
	}
	l.fails(0, &engine.Ping{Key: key, Target: engine.Target{Nodes: hostIDs(3)}}, syscall.ENOSPC)
	l.fails(0, &engine.AddGroup{Key: key, Name: "h", IDs: hostIDs(1, 2)}, syscall.ENOSPC)
	l.must(0, &engine.AddGroup{Key: key, Name: "h", IDs: hostIDs(1)}, &engine.AddBatch{Key: key, Name: "b"})
	l.fails(0, &engine.AddGroup{Key: key, Name: "i"}, syscall.ENOSPC)
	l.fails(0, &engine.AddBatch{Key: key, Name: "c"}, syscall.ENOSPC)
	l.fails(0, &engine.AddBatch{Key: key, Name: "b"}, syscall.EEXIST)
	l.fails(0, &engine.AddBatch{Key: key, Name: ""}, syscall.EINVAL)
	for _, target := range []engine.Target{{}, {Group: "g", Session: true}, {Server: true, Group: "g"}, {Nodes: hostIDs(1), Batch: "b"}} {
		l.fails(0, &engine.Ping{Key: key, Target: target}, syscall.EINVAL)
	}
	l.fails(0, &engine.Stat{Key: key, Target: engine.Target{Group: "none"}}, syscall.ENOENT)
	l.fails(0, &engine.Stat{Key: key, Target: engine.Target{Batch: "none"}}, syscall.ENOENT)
	// A group that another command uses cannot be changed.
	l.host(2).dead = true
	waits, id := l.begin(0, &engine.RemoveNodes{Key: key, Group: "g", IDs: hostIDs(2)})
	l.fails(0, &engine.DeleteGroup{Key: key, Group: "g"}, syscall.EBUSY)
	l.host(0).stepConsole(engine.Input{Kind: engine.Cancel, ID: id})
	if !waits.over || !isErrno(waits.err, syscall.EINTR) || waits.Answers[0].Failed != syscall.EINTR || waits.Answers[0].State != engine.Active {
		t.Errorf("%+v", waits)
	}
	l.do(0, &engine.DeleteGroup{Key: key, Group: "h"})
}

// TestWait: a command waits at least 3 s and at most 30 s for each node, and commands under way are
// bounded.
func TestWait(t *testing.T) {
	spec.Covers(t, "ST-30")
	l := newLab(t, 3, engine.Config{MaxCommands: 2, MaxCalls: 1})
	l.open(1, 2)
	l.host(1).dead = true
	l.host(2).dead = true
	// The console pings the silent nodes for the first time while the last command waits for its second node,
	// so these pings delay no command.
	for _, tt := range []struct{ wait, want time.Duration }{{-1, 3}, {0, 3}, {5 * time.Second, 5}, {time.Hour, 30}} {
		begin, want := l.now, tt.want*time.Second
		got := l.do(0, &engine.Ping{Key: key, Target: engine.Target{Group: "g"}, Timeout: tt.wait})
		if took := got.at - begin; took != 2*want || got.Answers[1].Latency != want { // MaxCalls is 1, so the two nodes are asked one after the other
			t.Errorf("to wait %v took %v", tt.wait, took)
		}
	}
	ping := &engine.Ping{Key: key, Target: engine.Target{Group: "g"}}
	l.begin(0, ping)
	l.begin(0, ping)
	l.fails(0, ping, syscall.EAGAIN)
}
