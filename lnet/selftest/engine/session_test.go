package engine_test

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/wire"
)

// sessionOf returns the fields of a reply that say which session a node has.
func sessionOf(body wire.Body) (id wire.Session, name string) {
	switch b := body.(type) {
	case *wire.MakeSessionReply:
		return b.Session, b.Name
	case *wire.RemoveSessionReply:
		return b.Session, ""
	case *wire.DebugReply:
		return b.Session, b.Name
	case *wire.StatReply:
		return b.Session, ""
	case *wire.TestReply:
		return b.Session, ""
	case *wire.BatchReply:
		return b.Session, ""
	}
	return body.(*wire.JoinReply).Session, ""
}

// TestSessionRules checks each row of the table of selftest §5, in one conversation of two consoles with a
// node.
func TestSessionRules(t *testing.T) {
	spec.Covers(t, "ST-9")
	none, any := wire.NoSession(), wire.Session{Console: nid.Any(), Stamp: 5}
	l := newLab(t, engine.Config{}, node1)
	for i, step := range []struct {
		features wire.Features
		body     wire.Body
		status   wire.Status
		session  wire.Session
		name     string
		answered wire.Features // features of the reply
	}{
		{1, &wire.Debug{Session: id1}, wire.ESRCH, none, "", 1},
		{2, &wire.Debug{Session: id1}, wire.EPROTO, none, "", 1},
		{1, &wire.Stat{Session: id1}, wire.ESRCH, none, "", 1},
		{1, &wire.Stat{Session: any}, wire.EINVAL, none, "", 1},
		{1, &wire.RemoveSession{Session: id1}, wire.ESRCH, none, "", 1},
		{1, &wire.RemoveSession{Session: any}, wire.EINVAL, none, "", 1},
		{1, &wire.Batch{Session: id1, Batch: 1, Op: wire.RunBatch}, wire.ESRCH, none, "", 1},
		{1, &wire.Test{Session: id1, Service: wire.PingService, Loop: 1, Concurrency: 1}, wire.ENOENT, none, "", 1},
		{1, &wire.Join{Session: none, Group: "g"}, wire.ESRCH, none, "", 1},
		{3, &wire.MakeSession{Session: id1, Name: "one"}, wire.EPROTO, none, "", 1},
		{1, &wire.MakeSession{Session: any, Name: "one"}, wire.EINVAL, none, "", 1},
		{0, &wire.MakeSession{Session: id1, Name: "one"}, wire.OK, id1, "", 0},
		// The session gets a second reference, so that two REMOVE_SESSION requests are needed.
		{0, &wire.MakeSession{Session: id1, Name: "one"}, wire.OK, id1, "", 0},
		{1, &wire.MakeSession{Session: any, Name: "one"}, wire.EINVAL, id1, "", 0},
		{1, &wire.MakeSession{Session: id2, Name: "two"}, wire.EBUSY, id1, "one", 0},
		{1, &wire.Debug{Session: id2}, wire.OK, id1, "one", 0},
		{1, &wire.Stat{Session: id1}, wire.EPROTO, id1, "", 1},
		{0, &wire.Stat{Session: id2}, wire.ESRCH, id1, "", 0},
		{0, &wire.Stat{Session: id1}, wire.OK, id1, "", 0},
		{0, &wire.RemoveSession{Session: id2}, wire.EBUSY, id1, "", 0},
		{0, &wire.RemoveSession{Session: id1}, wire.OK, id1, "", 0},
		{0, &wire.RemoveSession{Session: id1}, wire.OK, none, "", 1},
		{0, &wire.MakeSession{Session: id1, Name: "one"}, wire.OK, id1, "", 0},
		{1, &wire.MakeSession{Session: id2, Name: "two", Force: true}, wire.OK, id2, "", 1},
		{1, &wire.Debug{Session: id1}, wire.OK, id2, "two", 1},
		{1, &wire.Stat{Session: id1}, wire.ESRCH, id2, "", 1},
	} {
		m, ok := l.ask(node1, step.features, step.body)
		if !ok {
			t.Fatalf("step %d: no reply", i)
		}
		id, name := sessionOf(m.Body)
		if m.Status != step.status || id != step.session || name != step.name || m.Features != step.answered {
			t.Errorf("step %d, %T: %v, session %v %q, features %d; want %+v", i, step.body, m.Status, id, name, m.Features, step)
		}
	}
	if got := l.nodes[node1.NID].Stats(); got.Session != id2 || got.Name != "two" {
		t.Errorf("%+v", got)
	}
}

// TestSessionTimeout: a session ends 100 s after the latest request of a console; requests of tests do
// not put this off.
func TestSessionTimeout(t *testing.T) {
	spec.Covers(t, "ST-10")
	l := newLab(t, engine.Config{}, node1)
	if m := l.want(node1, &wire.MakeSession{Session: id1}, wire.OK).(*wire.MakeSessionReply); m.Timeout != 100 {
		t.Errorf("timeout %d", m.Timeout)
	}
	l.advance(node1.NID, 99*time.Second)
	l.want(node1, &wire.Stat{Session: id2}, wire.ESRCH) // a refused request restarts the time-out of the session, too
	l.advance(node1.NID, 99*time.Second)
	l.want(node1, &wire.Ping{Magic: wire.PingMagic}, wire.OK)
	if got := l.nodes[node1.NID].Stats(); got.Session != id1 {
		t.Errorf("after 198 s: %+v", got)
	}
	l.advance(node1.NID, time.Second)
	l.want(node1, &wire.Debug{Session: id1}, wire.ESRCH)
	if got := l.nodes[node1.NID].Stats(); got.TimedOut != 1 {
		t.Errorf("%+v", got)
	}
}

// TestNoAnswer: a message that is no request of the service gets no answer and is counted. A request
// of another version is answered with EPROTO.
func TestNoAnswer(t *testing.T) {
	spec.Covers(t, "ST-11")
	l := newLab(t, engine.Config{}, node1)
	good, err := (&wire.Message{Header: wire.Header{Features: 1}, ReplyID: 7, Body: &wire.Debug{}}).AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		service wire.Service
		change  func([]byte) []byte
		status  wire.Status
		replies int
	}{
		{"good", wire.DebugService, func(b []byte) []byte { return b }, wire.ESRCH, 1},
		{"version", wire.DebugService, func(b []byte) []byte { b[4] = 2; return b }, wire.EPROTO, 1},
		{"short", wire.DebugService, func(b []byte) []byte { return b[:159] }, 0, 0},
		{"magic", wire.DebugService, func(b []byte) []byte { b[0] = 0; return b }, 0, 0},
		{"type", wire.DebugService, func(b []byte) []byte { b[8] = 99; return b }, 0, 0},
		{"another service", wire.StatService, func(b []byte) []byte { return b }, 0, 0},
		{"unknown service", 7, func(b []byte) []byte { return b }, 0, 0},
	} {
		data := tt.change(append([]byte(nil), good...))
		l.step(node1.NID, engine.Input{Kind: engine.Arrived, Peer: l.console, Self: node1.NID, Service: tt.service, Data: data})
		if len(l.replies) != tt.replies || tt.replies > 0 && l.replies[0].Status != tt.status {
			t.Errorf("%s: %+v", tt.name, l.replies)
		}
		l.replies = nil
	}
	l.join(node1)
	l.want(node1, &wire.Test{Session: id1, Batch: 2, Service: wire.PingService, Loop: 1, Concurrency: 1}, wire.OK)
	for _, body := range []wire.Body{&wire.Ping{Magic: 5}, &wire.Batch{Session: id1, Batch: 2, Op: 9}} {
		if m, ok := l.ask(node1, 1, body); ok {
			t.Errorf("%T is answered by %+v", body, m)
		}
	}
	if got := l.stat(node1).RPC; got.Received != 11 || got.Dropped != 6 {
		t.Errorf("%+v", got)
	}
}

// TestAllow: a node that is not allowed cannot make a session or send RPCs. A test that
// has such a node as a destination is refused.
func TestAllow(t *testing.T) {
	spec.Covers(t, "ST-12")
	allowed := false
	l := newLab(t, engine.Config{Allow: func(id nid.NID) bool { return id != node2.NID && allowed }}, node1)
	l.want(node1, &wire.MakeSession{Session: id1}, wire.EPERM)
	for _, body := range []wire.Body{&wire.Debug{}, &wire.Ping{Magic: wire.PingMagic}, &wire.BRW{Op: wire.Read, Length: 8, Check: wire.CheckNone}} {
		if _, ok := l.ask(node1, 1, body); ok {
			t.Errorf("%T is answered", body)
		}
	}
	allowed = true
	l.join(node1)
	list, err := wire.AppendDestinations(nil, []wire.Destination{l.console, node2}, false)
	if err != nil {
		t.Fatal(err)
	}
	l.lists[9] = list
	l.want(node1, &wire.Test{BulkID: 9, Session: id1, Service: wire.PingService, Loop: 1, Concurrency: 1, Client: true, Destinations: 2}, wire.EPERM)
	l.advance(node1.NID, 99*time.Second)
	allowed = false
	l.want(node1, &wire.MakeSession{Session: id2, Force: true}, wire.EPERM)
	l.advance(node1.NID, time.Second) // the refused MAKE_SESSION has not restarted the time-out of the session
	if got := l.nodes[node1.NID].Stats(); got.NotAllowed != 6 || got.TimedOut != 1 {
		t.Errorf("%+v", got)
	}
}
