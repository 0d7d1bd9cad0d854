package console_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/selftest"
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/wire"
	"ulnet/portals"
)

// join lets a host ask the console of host 0 to join its session, and returns the reply.
func (l *lab) join(host int, id uint64, request wire.Join) (reply wire.Message, ok bool) {
	l.t.Helper()
	data, err := (&wire.Message{Header: wire.Header{Features: 1}, ReplyID: id, Body: &request}).AppendBinary(nil)
	if err != nil {
		l.t.Fatal(err)
	}
	table, b := l.tables[host], make([]byte, wire.MessageSize)
	l.hosts[host].Do(func() {
		me, err := table.MEAttach(wire.BulkPortal, portals.Match{ID: process(0), Bits: id}, portals.Unlink, portals.After)
		if err == nil {
			_, err = table.MDAttach(me, portals.MD{Segments: []lnd.Segment{b}, Threshold: 1, Options: portals.OpPut, Handler: func(e *portals.Event) {
				if e.Kind == portals.EventPut {
					reply, err = wire.ParseMessage(b[:e.MLength])
					ok = err == nil
				}
			}}, portals.Unlink)
		}
		md, err2 := table.MDBind(portals.MD{Segments: []lnd.Segment{data}, Threshold: 1}, portals.Unlink)
		if err = errors.Join(err, err2); err == nil {
			err = table.Put(portals.PutRequest{MD: md, Target: process(0), Portal: wire.FrameworkPortal, MatchBits: uint64(wire.JoinService)})
		}
		if err != nil {
			l.t.Error(err)
		}
	})
	l.run(time.Second)
	return reply, ok
}

// TestJoin: a node joins the session of a console, which gets the request from the test node of its host. The
// node is refused while the console has no session, and after the console was closed. The other requests of
// the console's service are still answered.
func TestJoin(t *testing.T) {
	spec.Covers(t, "ST-31")
	l := newLab(t, 2, 1, selftest.Config{})
	request := wire.Join{Session: wire.NoSession(), Group: "g"}
	if m, ok := l.join(1, 1<<40, request); !ok || m.Status != wire.ESRCH {
		t.Errorf("%+v, %t", m, ok)
	}
	l.must(0, &console.NewSession{Key: key, Name: "one", Features: 1, Timeout: time.Minute})
	s, err := l.consoles[0].Session()
	if err != nil {
		t.Fatal(err)
	}
	m, ok := l.join(1, 2<<40, request)
	want := wire.JoinReply{Session: s.ID, Timeout: 60, Name: "one"}
	if b, is := m.Body.(*wire.JoinReply); !ok || !is || m.Status != wire.OK || *b != want {
		t.Errorf("%+v %+v, want %+v", m, m.Body, want)
	}
	if g, err := l.consoles[0].Group("g"); err != nil || len(g.Nodes) != 1 || g.Nodes[0] != (console.Node{ID: process(1), State: console.Active}) {
		t.Errorf("%+v, %v", g, err)
	}
	if _, err := console.New(l.tables[0], l.agents[0], console.Config{}); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("a second console: %v", err)
	}
	if got := l.agents[0].Status().Received; got != 2 {
		t.Errorf("%d requests are counted", got)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	l.hosts[0].Do(func() {
		stop, err := l.agents[1].ServeJoin(func(selftest.Join) {})
		if err != nil {
			t.Error(err)
		}
		stop()
		if err := l.consoles[0].Close(over); !errors.Is(err, context.Canceled) { // Close asks node 1 to leave and does not wait
			t.Error(err)
		}
	})
	if m, ok := l.join(1, 3<<40, request); !ok || m.Status != wire.ESRCH {
		t.Errorf("after the end of the console: %+v, %t", m, ok)
	}
}
