package engine_test

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/wire"
)

// silent returns a lab whose node1 has the session id1 and waits for a list that does not come.
func silent(t *testing.T) (l *lab, test wire.Test) {
	t.Helper()
	l = newLab(t, engine.Config{RPCTimeout: -1}, node1)
	l.join(node1)
	l.keep(engine.DoGet)
	test = wire.Test{BulkID: 9, Session: id1, Batch: 2, Service: wire.PingService, Loop: 1, Concurrency: 1}
	l.want(node1, &test, wire.OK)
	test.Client, test.Destinations = true, 1
	l.send(node1, 1, &test)
	return l, test
}

// TestSilentList: while a node waits for a list, it still answers questions about its session and requests to stop
// batches, and another console can take the node by force. A session that ends does not wait for its list.
func TestSilentList(t *testing.T) {
	spec.Covers(t, "ST-19")
	l, test := silent(t)
	l.want(node1, &wire.Debug{Session: id1}, wire.OK)
	l.stat(node1)
	l.batch(node1, wire.StopBatch, 0, 0)
	if _, ok := l.ask(node1, 1, &wire.Batch{Session: id1, Batch: 2, Op: wire.RunBatch}); ok {
		t.Error("a batch runs before its test is complete")
	}
	if _, ok := l.ask(node1, 1, &wire.Batch{Session: id1, Batch: 2, Op: wire.StopBatch}); ok {
		t.Error("a request overtakes an earlier one of its node")
	}
	l.console = process("10.0.0.2@tcp")
	l.lost = func(_ nid.NID, e *engine.Effect) bool {
		return e.Kind == engine.DoGet || e.Kind == engine.DoReply && e.Peer != l.console
	}
	l.send(node1, 1, &wire.MakeSession{Session: id2, Name: "two", Force: true})
	if len(l.replies) != 1 || l.replies[0].Type != wire.TypeMakeSession.Reply() || l.replies[0].Status != wire.OK || l.seen[engine.DoCancel] != 1 {
		t.Fatalf("%+v, effects %v", l.replies, l.seen)
	}
	l.replies = nil
	test.Session = id2
	l.send(node1, 1, &test)
	if l.seen[engine.DoGet] != 2 {
		t.Errorf("the list of the new session is not got: effects %v", l.seen)
	}
}

// TestListTimeout: other requests wait while a node fetches the list of destinations of a TEST request.
// If the list does not come, they wait for 10 s.
func TestListTimeout(t *testing.T) {
	spec.Covers(t, "ST-19")
	l, _ := silent(t)
	l.send(node1, 1, &wire.RemoveSession{Session: id1})
	l.advance(node1.NID, 10*time.Second-1)
	if len(l.replies) != 0 {
		t.Fatalf("%+v", l.replies)
	}
	l.advance(node1.NID, 1)
	if len(l.replies) != 1 || l.replies[0].Type != wire.TypeRemoveSession.Reply() || l.replies[0].Status != wire.OK {
		t.Errorf("%+v", l.replies)
	}
}
