package engine_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/wire"
)

// joiner is a node that joins the session of a console. The test itself answers in the place of
// the console.
type joiner struct {
	*lab
	calls []engine.Effect // requests to the console
	end   []engine.Joined
}

func newJoiner(t *testing.T, cfg engine.Config) *joiner {
	j := &joiner{lab: newLab(t, cfg, node1)}
	j.lost = func(_ nid.NID, e *engine.Effect) bool {
		switch e.Kind {
		case engine.DoCall:
			j.calls = append(j.calls, *e)
		case engine.DoAnswer:
			j.end = append(j.end, e.Joined)
		default:
			return false
		}
		return true
	}
	return j
}

// join makes the node begin to join, and returns its request, if it sent one.
func (j *joiner) join(console nid.ProcessID, group string) (request wire.Message, sent bool) {
	j.t.Helper()
	before := len(j.calls)
	j.step(node1.NID, engine.Input{Kind: engine.Join, ID: 7, Peer: console, Group: group})
	return j.latest(before)
}

// latest returns the latest request to the console. If the node has sent no more of them than the number
// before, sent is false.
func (j *joiner) latest(before int) (request wire.Message, sent bool) {
	j.t.Helper()
	if len(j.calls) == before {
		return request, false
	}
	m, err := wire.ParseMessage(j.calls[len(j.calls)-1].Data)
	if err != nil {
		j.t.Fatal(err)
	}
	return m, true
}

// reply answers the latest request.
func (j *joiner) reply(features wire.Features, status wire.Status, body wire.Body) {
	j.t.Helper()
	data, err := (&wire.Message{Header: wire.Header{Features: features}, Status: status, Body: body}).AppendBinary(nil)
	if err != nil {
		j.t.Fatal(err)
	}
	j.step(node1.NID, engine.Input{Kind: engine.Sent, ID: j.calls[len(j.calls)-1].ID})
	j.step(node1.NID, engine.Input{Kind: engine.Replied, ID: j.calls[len(j.calls)-1].ID, Data: data})
}

// TestJoins: a node that a console admits has the console's session as if MAKE_SESSION had arrived:
// with the session's features and name, one reference, and the node's own time-out.
func TestJoins(t *testing.T) {
	spec.Covers(t, "ST-33")
	j := newJoiner(t, engine.Config{})
	m, sent := j.join(j.console, "laptops")
	if b, ok := m.Body.(*wire.Join); !sent || !ok || *b != (wire.Join{Session: wire.NoSession(), Group: "laptops"}) || m.Features != 1 || j.calls[0].Peer != j.console {
		t.Fatalf("%+v", m.Body)
	}
	j.reply(0, wire.EPROTO, &wire.JoinReply{Session: id1})
	if m, sent = j.latest(1); !sent || m.Features != 0 || m.ReplyID == j.calls[0].ID {
		t.Fatalf("a session with other features: %+v", m)
	}
	j.reply(0, wire.OK, &wire.JoinReply{Session: id1, Timeout: 300, Name: "one"})
	if len(j.end) != 1 || j.end[0] != (engine.Joined{Session: id1, Name: "one"}) {
		t.Fatalf("%+v", j.end)
	}
	if m, ok := j.ask(node1, 0, &wire.Debug{Session: id1}); !ok || m.Status != wire.OK || m.Body.(*wire.DebugReply).Name != "one" || m.Features != 0 {
		t.Errorf("%+v", m)
	}
	if m, ok := j.ask(node1, 0, &wire.RemoveSession{Session: id1}); !ok || m.Status != wire.OK || m.Body.(*wire.RemoveSessionReply).Session != wire.NoSession() {
		t.Errorf("%+v", m)
	}
	if _, sent = j.join(j.console, "laptops"); !sent {
		t.Error("it does not join again")
	}
	j.reply(1, wire.OK, &wire.JoinReply{Session: id2, Name: "two"})
	j.advance(node1.NID, 100*time.Second)
	if got := j.nodes[node1.NID].Stats(); got.TimedOut != 1 || got.Session != wire.NoSession() || got.Sent != 3 {
		t.Errorf("%+v", got)
	}
}

// TestJoinRefused checks how a Join ends if this node, the console or the network refuses it.
func TestJoinRefused(t *testing.T) {
	spec.Covers(t, "ST-33")
	stranger := process("10.9.9.9@tcp")
	six := nid.ProcessID{NID: nid.MustParse("fd00::1@tcp"), PID: nid.LustrePID}
	allow := func(id nid.NID) bool { return id != stranger.NID }
	for name, tt := range map[string]struct {
		console nid.ProcessID
		group   string
		then    func(j *joiner)
		want    engine.Joined
	}{
		"no group":     {node2, "", nil, engine.Joined{Errno: syscall.EINVAL}},
		"long group":   {node2, strings.Repeat("g", 32), nil, engine.Joined{Errno: syscall.EINVAL}},
		"zero":         {node2, "a\x00b", nil, engine.Joined{Errno: syscall.EINVAL}},
		"any node":     {nid.ProcessID{NID: nid.Any()}, "g", nil, engine.Joined{Errno: syscall.EINVAL}},
		"PID 0":        {nid.ProcessID{NID: node2.NID}, "g", nil, engine.Joined{Errno: syscall.EINVAL}},
		"any PID":      {nid.ProcessID{NID: node2.NID, PID: nid.PIDAny}, "g", nil, engine.Joined{Errno: syscall.EINVAL}},
		"IPv6":         {six, "g", nil, engine.Joined{Errno: syscall.EAFNOSUPPORT}},
		"not allowed":  {stranger, "g", nil, engine.Joined{Errno: syscall.EPERM}},
		"no session":   {node2, "g", func(j *joiner) { j.reply(1, wire.ESRCH, &wire.JoinReply{Session: wire.NoSession()}) }, engine.Joined{Errno: syscall.ESRCH, Refused: true, Features: 1}},
		"group in use": {node2, "g", func(j *joiner) { j.reply(1, wire.EBUSY, &wire.JoinReply{Session: id1}) }, engine.Joined{Errno: syscall.EBUSY, Refused: true, Session: id1, Features: 1}},
		"features twice": {node2, "g", func(j *joiner) {
			j.reply(0, wire.EPROTO, &wire.JoinReply{Session: id1})
			j.reply(1, wire.EPROTO, &wire.JoinReply{Session: id1})
		}, engine.Joined{Errno: syscall.EPROTO, Refused: true, Session: id1, Features: 1}},
		"unknown features":    {node2, "g", func(j *joiner) { j.reply(8, wire.EPROTO, &wire.JoinReply{Session: id1}) }, engine.Joined{Errno: syscall.EPROTO, Refused: true, Session: id1, Features: 8}},
		"admitted to nothing": {node2, "g", func(j *joiner) { j.reply(1, wire.OK, &wire.JoinReply{Session: wire.NoSession()}) }, engine.Joined{Errno: syscall.EBADMSG, Features: 1}},
		"another reply":       {node2, "g", func(j *joiner) { j.reply(1, wire.OK, &wire.DebugReply{Session: id1}) }, engine.Joined{Errno: syscall.EBADMSG}},
		"not sent":            {node2, "g", func(j *joiner) { j.step(node1.NID, engine.Input{Kind: engine.Sent, ID: j.calls[0].ID, Failed: true}) }, engine.Joined{Errno: syscall.EHOSTUNREACH}},
		"silence":             {node2, "g", func(j *joiner) { j.advance(node1.NID, 30*time.Second) }, engine.Joined{Errno: syscall.ETIMEDOUT}},
		"given up":            {node2, "g", func(j *joiner) { j.step(node1.NID, engine.Input{Kind: engine.Cancel, ID: 7}) }, engine.Joined{Errno: syscall.EINTR}},
		"another session meanwhile": {node2, "g", func(j *joiner) {
			j.want(node1, &wire.MakeSession{Session: id2}, wire.OK)
			j.reply(1, wire.OK, &wire.JoinReply{Session: id1})
		}, engine.Joined{Errno: syscall.EBUSY, Session: id2, Features: 1}},
		"the same meanwhile": {node2, "g", func(j *joiner) {
			j.want(node1, &wire.MakeSession{Session: id1}, wire.OK)
			j.reply(1, wire.OK, &wire.JoinReply{Session: id1})
			j.want(node1, &wire.RemoveSession{Session: id1}, wire.OK) // the session has two references, and loses one
			j.want(node1, &wire.Debug{Session: id1}, wire.OK)
		}, engine.Joined{Session: id1, Features: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJoiner(t, engine.Config{Allow: allow})
			if _, sent := j.join(tt.console, tt.group); sent != (tt.then != nil) {
				t.Fatalf("sent: %t", sent)
			}
			if tt.then != nil {
				j.step(node1.NID, engine.Input{Kind: engine.Cancel, ID: 8}) // no effect: there is no Join with this number
				tt.then(j)
			}
			if !tt.want.Session.Console.IsValid() {
				tt.want.Session = wire.NoSession()
			}
			if len(j.end) != 1 || j.end[0] != tt.want {
				t.Errorf("%+v, want %+v", j.end, tt.want)
			}
		})
	}
}

// TestJoinBusy: a node in a session, and one that is asking already, asks no console.
func TestJoinBusy(t *testing.T) {
	spec.Covers(t, "ST-33")
	j := newJoiner(t, engine.Config{})
	j.join(node2, "g")
	if _, sent := j.join(node2, "h"); sent || len(j.end) != 1 || j.end[0].Errno != syscall.EBUSY {
		t.Errorf("%+v", j.end)
	}
	j.reply(1, wire.OK, &wire.JoinReply{Session: id1})
	if _, sent := j.join(node2, "h"); sent || len(j.end) != 3 || j.end[2].Errno != syscall.EBUSY || j.end[2].Session != id1 {
		t.Errorf("%+v", j.end)
	}
	j.reply(1, wire.OK, &wire.JoinReply{Session: id2}) // no effect: no Join is under way
	if got := j.nodes[node1.NID].Stats(); got.Session != id1 {
		t.Errorf("%+v", got)
	}
}
