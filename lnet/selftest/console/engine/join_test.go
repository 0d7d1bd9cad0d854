package engine_test

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/console/engine"
	"ulnet/lnet/selftest/wire"
)

// join lets a node ask the console of host 0 to join, and returns the reply.
func (l *lab) join(id nid.ProcessID, features wire.Features, request wire.Join) wire.Message {
	l.t.Helper()
	c := l.host(0).console
	var out engine.Output
	c.Step(l.now, engine.Input{Kind: engine.Joined, Peer: id, Self: hostID(0).NID, ReplyID: 99, Features: features, Join: request}, &out)
	if err := c.Invariants(); err != nil {
		l.t.Fatal(err)
	}
	if len(out.Effects) != 1 || out.Effects[0].Kind != engine.DoReply || out.Effects[0].ID != 99 || out.Effects[0].Peer != id || out.Effects[0].Self != hostID(0).NID {
		l.t.Fatalf("%+v", out.Effects)
	}
	m, err := wire.ParseMessage(out.Effects[0].Data)
	if err != nil {
		l.t.Fatal(err)
	}
	return m
}

// TestJoin checks the statuses with which the console refuses nodes that want to join, in the order of
// selftest §10, and its reply to nodes that may join.
func TestJoin(t *testing.T) {
	spec.Covers(t, "ST-31")
	l := newLab(t, 5, engine.Config{MaxNodes: 16, MaxGroups: 12})
	anySession := wire.NoSession()
	if m := l.join(hostID(1), 1, wire.Join{Session: anySession, Group: "g"}); m.Status != wire.ESRCH || m.Body.(*wire.JoinReply).Session != anySession {
		t.Errorf("%+v", m)
	}
	l.must(0, &engine.NewSession{Key: key, Name: "one", Features: 1, Timeout: 90 * time.Second})
	if m := l.join(hostID(1), 0, wire.Join{Session: anySession, Group: "g"}); m.Status != wire.EPROTO {
		t.Errorf("a node without features decides those of the session: %+v", m)
	}
	l.must(0, &engine.AddGroup{Key: key, Name: "used", IDs: hostIDs(4)})
	l.must(0, &engine.AddTest{Key: key, Test: ping("used", "used")})
	s, err := l.host(0).console.Session()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name     string
		id       nid.ProcessID
		features wire.Features
		request  wire.Join
		want     wire.Status
	}{
		{"unknown features", hostID(1), 3, wire.Join{Session: anySession, Group: "g"}, wire.EPROTO},
		{"other features", hostID(1), 0, wire.Join{Session: anySession, Group: "g"}, wire.EPROTO},
		{"other session", hostID(1), 1, wire.Join{Session: wire.Session{Console: s.ID.Console, Stamp: 1}, Group: "g"}, wire.EBUSY},
		{"no group", hostID(1), 1, wire.Join{Session: anySession}, wire.EINVAL},
		{"a terminal's escape sequence as the group's name", hostID(1), 1, wire.Join{Session: anySession, Group: "\x1b[2J"}, wire.EINVAL},
		{"one of 8 bits", hostID(1), 1, wire.Join{Session: anySession, Group: "\x9b2J"}, wire.EINVAL},
		{"a right-to-left override", hostID(1), 1, wire.Join{Session: anySession, Group: "a\u202eb"}, wire.EINVAL},
		{"IPv6", process("fd00::1@tcp"), 1, wire.Join{Session: anySession, Group: "g"}, wire.EINVAL},
		{"loopback", process("0@lo"), 1, wire.Join{Session: anySession, Group: "g"}, wire.EINVAL},
		{"group in use", hostID(1), 1, wire.Join{Session: anySession, Group: "used"}, wire.EBUSY},
		{"any session", hostID(1), 1, wire.Join{Session: anySession, Group: "g"}, wire.OK},
		{"member", hostID(1), 1, wire.Join{Session: anySession, Group: "g"}, wire.EEXIST},
		{"this session", hostID(2), 1, wire.Join{Session: s.ID, Group: "g"}, wire.OK},
		{"another group", hostID(2), 1, wire.Join{Session: s.ID, Group: "h"}, wire.OK},
		{"a group too many", hostID(2), 1, wire.Join{Session: s.ID, Group: "i"}, wire.ENOMEM},
		{"third node", process("10.9.0.1@tcp"), 1, wire.Join{Session: s.ID, Group: "h"}, wire.OK},
		{"fourth node", process("10.9.0.2@tcp"), 1, wire.Join{Session: s.ID, Group: "h"}, wire.OK},
		{"a node too many", process("10.9.0.3@tcp"), 1, wire.Join{Session: s.ID, Group: "h"}, wire.ENOMEM},
	} {
		m := l.join(tt.id, tt.features, tt.request)
		want := wire.JoinReply{Session: s.ID}
		if tt.want == wire.OK {
			want.Timeout, want.Name = 90, "one"
		}
		if got := *m.Body.(*wire.JoinReply); m.Status != tt.want || got != want || m.Features != 1 {
			t.Errorf("%s: %+v %+v, want %v %+v", tt.name, m, got, tt.want, want)
		}
	}
	if got := l.states("g"); len(got) != 2 || got[0] != engine.Active || got[1] != engine.Active {
		t.Errorf("%v", got)
	}
	l.do(0, &engine.Ping{Key: key, Target: engine.Target{Group: "g"}}) // these nodes have no session: the test only sent their requests
	if got := l.states("g"); got[0] != engine.Unknown {
		t.Errorf("%v", got)
	}
	l.do(0, &engine.DeleteGroup{Key: key, Group: "h"})
	if m := l.join(process("10.9.0.3@tcp"), 1, wire.Join{Session: s.ID, Group: "h"}); m.Status != wire.OK {
		t.Errorf("%+v", m)
	}
}
