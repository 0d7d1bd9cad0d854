package engine_test

import (
	"syscall"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/console/engine"
	node "ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/wire"
)

// TestLeaveInterrupted: a command that asked a node to join is canceled before the reply. The node is
// asked to leave when the session ends, and when its group is deleted.
func TestLeaveInterrupted(t *testing.T) {
	spec.Covers(t, "ST-24")
	for _, last := range []engine.Command{
		&engine.EndSession{Key: key}, &engine.DeleteGroup{Key: key, Group: "g"}, &engine.NewSession{Key: key, Name: "two", Features: 1, Force: true},
	} {
		l := newLab(t, 2, engine.Config{})
		l.must(0, &engine.NewSession{Key: key, Name: "one", Features: 1})
		add, id := l.begin(0, &engine.AddGroup{Key: key, Name: "g", IDs: hostIDs(1)})
		l.host(0).stepConsole(engine.Input{Kind: engine.Cancel, ID: id})
		if !isErrno(add.err, syscall.EINTR) {
			t.Errorf("%+v", add)
		}
		l.run(time.Second)
		if l.must(0, last); l.sent[wire.RemoveSessionService] != 1 || l.host(1).node.Stats().Session != wire.NoSession() {
			t.Errorf("%T: %d requests to leave, the node has %v", last, l.sent[wire.RemoveSessionService], l.host(1).node.Stats().Session)
		}
	}
}

// TestLeaveUnderWay: a node answers that it has no session while a MAKE_SESSION request to it is under
// way. The console still asks the node to leave in the end, because that request may succeed.
func TestLeaveUnderWay(t *testing.T) {
	spec.Covers(t, "ST-24")
	l := newLab(t, 2, engine.Config{})
	l.must(0, &engine.NewSession{Key: key, Name: "one", Features: 1}, &engine.AddGroup{Key: key, Name: "g"})
	pings, _ := l.begin(0, &engine.Ping{Key: key, Target: engine.Target{Nodes: hostIDs(1)}})
	l.begin(0, &engine.AddNodes{Key: key, Group: "g", IDs: hostIDs(1)})
	l.lost = func(from, _ *host, s wire.Service) bool { return from == l.host(1) && s == wire.MakeSessionService }
	if l.run(3 * latency); !pings.over || pings.Answers[0].Status != syscall.ESRCH {
		t.Fatalf("%+v", pings)
	}
	if l.must(0, &engine.EndSession{Key: key}); l.host(1).node.Stats().Session != wire.NoSession() {
		t.Errorf("the node has %+v", l.host(1).node.Stats())
	}
}

// TestLeaveDown: a node that has not answered one request is still asked to leave. For a node that is
// gone the console waits only the shortest time, and the answers of the command report that node.
func TestLeaveDown(t *testing.T) {
	spec.Covers(t, "ST-24", "ST-30")
	l := newLab(t, 4, engine.Config{})
	l.open(1, 2, 3)
	l.lost = func(_, to *host, _ wire.Service) bool { return to == l.host(1) || to == l.host(2) }
	l.do(0, &engine.Stat{Key: key, Target: engine.Target{Group: "g"}})
	if got := l.states("g"); got[0] != engine.Down || got[1] != engine.Down || got[2] != engine.Active {
		t.Fatalf("%v", got)
	}
	l.lost = func(_, to *host, _ wire.Service) bool { return to == l.host(1) }
	begin := l.now
	got := l.do(0, &engine.EndSession{Key: key})
	if got.err != nil || len(got.Answers) != 3 || got.at-begin != 3*time.Second {
		t.Fatalf("after %v: %+v", got.at-begin, got)
	}
	if a := got.Answers; a[0].Failed != syscall.ETIMEDOUT || !a[1].OK() || !a[2].OK() || l.host(2).node.Stats().Session != wire.NoSession() {
		t.Errorf("%+v", a)
	}
}

// TestLeaveFeatures: if a node has made the session with other features, the console asks it at once to
// leave. This request has the node's own features, because the node would refuse others. Until the
// node answers it is not active.
func TestLeaveFeatures(t *testing.T) {
	spec.Covers(t, "ST-24")
	l := newLab(t, 3, engine.Config{})
	l.open(2)
	var made, left int
	l.host(1).fake = func(m *wire.Message) *wire.Message {
		reply := &wire.Message{}
		switch b := m.Body.(type) {
		case *wire.MakeSession:
			made++
			reply.Body = &wire.MakeSessionReply{Session: b.Session, Timeout: 100}
		case *wire.Debug:
			reply.Body = &wire.DebugReply{Session: b.Session, Timeout: 100, Name: "one"}
		case *wire.RemoveSession:
			if left++; left == 1 {
				return nil
			}
			reply.Body = &wire.RemoveSessionReply{Session: wire.NoSession()}
		}
		if m.Features != 0 && made > 0 && m.Type != wire.TypeMakeSession {
			reply.Status = wire.EPROTO
		}
		return reply
	}
	if got := l.do(0, &engine.AddGroup{Key: key, Name: "h", IDs: hostIDs(1)}).Answers; len(got) != 1 || got[0].Status != syscall.EPROTO || got[0].State != engine.Unknown {
		t.Errorf("%+v", got)
	}
	if l.run(latency); left != 1 {
		t.Errorf("the node was asked %d times to leave", left)
	}
	l.must(0, &engine.Ping{Key: key, Target: engine.Target{Group: "h"}})
	if got := l.states("h"); got[0] != engine.Unknown {
		t.Errorf("%v", got)
	}
	if s, err := l.host(0).console.Session(); err != nil || s.Features != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if l.must(0, &engine.EndSession{Key: key}); left != 2 {
		t.Errorf("the node was asked %d times to leave", left)
	}
}

// TestJoinFeatures: a node that joins by itself does not decide the features of nodes that are
// being asked to join.
func TestJoinFeatures(t *testing.T) {
	spec.Covers(t, "ST-31")
	l := newLab(t, 3, engine.Config{})
	l.must(0, &engine.NewSession{Key: key, Name: "one", Features: 1})
	add, _ := l.begin(0, &engine.AddGroup{Key: key, Name: "g", IDs: hostIDs(1)})
	if m := l.join(hostID(2), 0, wire.Join{Session: wire.NoSession(), Group: "h"}); m.Status != wire.EPROTO || m.Features != 1 {
		t.Errorf("%+v", m)
	}
	if l.run(time.Second); add.err != nil || !add.Answers[0].OK() {
		t.Errorf("%+v", add)
	}
	l.must(0, &engine.EndSession{Key: key})
}

// TestLooksLeaveGroups: a group can change while a command waits for the counters or the answers
// of its nodes.
func TestLooksLeaveGroups(t *testing.T) {
	spec.Covers(t, "ST-27")
	l := newLab(t, 3, engine.Config{})
	l.open(1, 2)
	l.host(2).dead = true
	target := engine.Target{Group: "g"}
	l.do(0, &engine.Stat{Key: key, Target: target})
	stat, _ := l.begin(0, &engine.Stat{Key: key, Target: target, Timeout: 20 * time.Second})
	ping, _ := l.begin(0, &engine.Ping{Key: key, Target: target, Timeout: 20 * time.Second})
	l.run(time.Second)
	if got := l.do(0, &engine.CleanGroup{Key: key, Group: "g", States: []engine.State{engine.Down}}); got.err != nil || len(l.states("g")) != 1 {
		t.Errorf("%+v, %v", got, l.states("g"))
	}
	if l.run(20 * time.Second); !stat.over || !ping.over || len(stat.Answers) != 2 || len(ping.Answers) != 2 {
		t.Fatalf("%+v, %+v", stat, ping)
	}
}

// TestLeaveUnreached: if the request to make the session did not reach a node, the node is not asked to leave either.
func TestLeaveUnreached(t *testing.T) {
	spec.Covers(t, "ST-24")
	l := newLab(t, 2, engine.Config{})
	l.must(0, &engine.NewSession{Key: key, Name: "one", Features: 1})
	l.host(1).dead, l.refuse = true, syscall.EHOSTUNREACH
	for _, group := range []string{"g", "h"} {
		if got := l.do(0, &engine.AddGroup{Key: key, Name: group, IDs: hostIDs(1)}).Answers; len(got) != 1 || got[0].Failed != syscall.EHOSTUNREACH {
			t.Errorf("%+v", got)
		}
	}
	if got := l.must(0, &engine.DeleteGroup{Key: key, Group: "g"}, &engine.DeleteGroup{Key: key, Group: "h"}, &engine.EndSession{Key: key}); len(got) != 0 || l.sent[wire.RemoveSessionService] != 0 {
		t.Errorf("%+v, %d requests to leave", got, l.sent[wire.RemoveSessionService])
	}
}

// TestLeaveJoined: a node joins by itself while the console asks it to make the session. The node counts both, and is
// asked twice to leave.
func TestLeaveJoined(t *testing.T) {
	spec.Covers(t, "ST-24")
	for name, last := range map[string][]engine.Command{
		"end":    {&engine.EndSession{Key: key}},
		"groups": {&engine.DeleteGroup{Key: key, Group: "laptops"}, &engine.DeleteGroup{Key: key, Group: "g"}},
	} {
		l := newLab(t, 2, engine.Config{})
		l.must(0, &engine.NewSession{Key: key, Name: "one", Features: 1})
		add, _ := l.begin(0, &engine.AddGroup{Key: key, Name: "g", IDs: hostIDs(1)})
		l.host(1).stepNode(node.Input{Kind: node.Join, ID: 1, Peer: hostID(0), Group: "laptops"})
		if l.run(time.Second); !add.over || !add.Answers[0].OK() || len(l.states("laptops")) != 1 {
			t.Fatalf("%s: %+v", name, add)
		}
		if l.must(0, last...); l.sent[wire.RemoveSessionService] != 2 || l.host(1).node.Stats().Session != wire.NoSession() {
			t.Errorf("%s: %d requests to leave, the node has %v", name, l.sent[wire.RemoveSessionService], l.host(1).node.Stats().Session)
		}
	}
}

// makeAs sends host 1 a request for the console's session, from the process of another host.
func (l *lab) makeAs(from *host, s wire.Session) {
	l.t.Helper()
	data, err := (&wire.Message{Header: wire.Header{Features: 1}, ReplyID: 7, Body: &wire.MakeSession{Session: s, Name: "one"}}).AppendBinary(nil)
	if err != nil {
		l.t.Fatal(err)
	}
	l.request(from, hostID(1).NID, wire.MakeSessionService, data, func(syscall.Errno) {})
	l.run(time.Millisecond)
}

// TestLeaveOthers: other nodes have asked a node to make the console's session, and the node has counted their requests.
// At the end of the session the console asks it again until it has left or, after three times, says that it keeps the
// session.
func TestLeaveOthers(t *testing.T) {
	spec.Covers(t, "ST-24")
	for others, want := range map[int]struct {
		asked  int
		status syscall.Errno
	}{3: {4, 0}, 100: {4, syscall.EBUSY}} {
		l := newLab(t, 3, engine.Config{})
		l.open(1)
		s, err := l.host(0).console.Session()
		if err != nil {
			t.Fatal(err)
		}
		for range others {
			l.makeAs(l.host(2), s.ID)
		}
		got := l.do(0, &engine.EndSession{Key: key})
		if got.err != nil || len(got.Answers) != 1 || got.Answers[0].Status != want.status || l.sent[wire.RemoveSessionService] != want.asked {
			t.Errorf("%d requests of others: %+v, asked %d times to leave", others, got, l.sent[wire.RemoveSessionService])
		}
		if left := l.host(1).node.Stats().Session == wire.NoSession(); left != (want.status == 0) {
			t.Errorf("%d requests of others: left %t", others, left)
		}
	}
}

// TestLeaveOtherNID: two groups have a node by different NIDs. When one of the groups is deleted, the node keeps the
// session for the other group, and leaves it at the end.
func TestLeaveOtherNID(t *testing.T) {
	spec.Covers(t, "ST-24")
	l := newLab(t, 2, engine.Config{})
	other := process("10.2.0.1@tcp")
	l.hosts[other.NID] = l.host(1)
	l.open(1)
	l.must(0, &engine.AddGroup{Key: key, Name: "h", IDs: []nid.ProcessID{other}}, &engine.DeleteGroup{Key: key, Group: "g"})
	if got := l.host(1).node.Stats().Session; got == wire.NoSession() || l.states("h")[0] != engine.Active {
		t.Errorf("%v, %v", got, l.states("h"))
	}
	if l.must(0, &engine.EndSession{Key: key}); l.host(1).node.Stats().Session != wire.NoSession() {
		t.Errorf("%+v", l.host(1).node.Stats())
	}
}
