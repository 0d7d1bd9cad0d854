package engine_test

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/wire"
)

// TestCorrupt: damaged bulk data make an RPC fail, and the client counts the failure. After a write, the
// server replies EBADMSG; after a read, the client's own check finds the damage. Without stop-on-error
// the units go on.
func TestCorrupt(t *testing.T) {
	spec.Covers(t, "ST-15")
	for _, op := range []wire.BRWOp{wire.Read, wire.Write} {
		for check, want := range map[wire.Check]uint32{wire.CheckNone: 0, wire.CheckSimple: 4, wire.CheckFull: 4, wire.CheckDiscard: 0} {
			l := newLab(t, engine.Config{}, node1, node2)
			l.corrupt = true
			l.join(node1)
			l.addClient(node1, brw(op, 8192, check, 4), node2)
			l.batch(node1, wire.RunBatch, 0, 0)
			l.advance(node1.NID, time.Second)
			if got := l.stat(node1); got.Framework.BRWErrors != want || got.RPC.Sent != 4 || got.RPC.Errors != 0 {
				t.Errorf("%v, check %v: %+v, want %d errors", op, check, got, want)
			}
		}
	}
}

// TestStopOnError: a unit with stop-on-error ends at the first RPC that fails.
func TestStopOnError(t *testing.T) {
	spec.Covers(t, "ST-16")
	l := newLab(t, engine.Config{}, node1, node2)
	l.corrupt = true
	l.join(node1)
	test := brw(wire.Read, 8, wire.CheckFull, -1)
	test.StopOnError = true
	l.addClient(node1, test, node2)
	l.batch(node1, wire.RunBatch, 0, 0)
	if got := l.stat(node1); got.RPC.Sent != 1 || got.Framework.BRWErrors != 1 || got.Framework.Batches != 0 {
		t.Errorf("%+v", got)
	}
}

// oneCall starts a test of one RPC that gets no answer, and returns that RPC.
func oneCall(t *testing.T, test wire.Test) (*lab, engine.Effect) {
	t.Helper()
	l := newLab(t, engine.Config{}, node1)
	l.join(node1)
	l.addClient(node1, test, node2)
	var call engine.Effect
	l.lost = func(_ nid.NID, e *engine.Effect) bool {
		if e.Kind == engine.DoCall {
			call = *e
		}
		return e.Kind == engine.DoCall
	}
	l.batch(node1, wire.RunBatch, 0, 0)
	return l, call
}

// TestRPCTimeout: an RPC without an end fails after 64 s, and is counted as expired.
func TestRPCTimeout(t *testing.T) {
	spec.Covers(t, "ST-17")
	l, call := oneCall(t, ping(1, 1))
	l.step(node1.NID, engine.Input{Kind: engine.Sent, ID: call.ID})
	l.advance(node1.NID, 64*time.Second-1)
	if got := l.stat(node1); got.RPC.Expired != 0 || got.Framework.Batches != 1 {
		t.Errorf("early: %+v", got)
	}
	l.advance(node1.NID, 1)
	if got := l.stat(node1); got.RPC.Expired != 1 || got.Framework.Batches != 0 || got.Framework.PingErrors != 1 || l.seen[engine.DoCancel] != 1 {
		t.Errorf("%+v, effects %v", got, l.seen)
	}
}

// TestParts: an RPC with bulk data ends when the request was sent, and the reply and the data
// have arrived, in any order. A refusal ends it without data.
func TestParts(t *testing.T) {
	spec.Covers(t, "ST-17")
	reply := func(status wire.Status) []byte {
		b, _ := (&wire.Message{Header: wire.Header{Features: 1}, Status: status, Body: &wire.BRWReply{}}).AppendBinary(nil)
		return b
	}
	ok, refusal, other := reply(wire.OK), reply(wire.EINVAL), reply(wire.OK)
	other[8] = byte(wire.TypePing.Reply())
	sent, bulk, good := engine.Input{Kind: engine.Sent}, engine.Input{Kind: engine.Bulk}, engine.Input{Kind: engine.Replied, Data: ok}
	for _, tt := range []struct {
		name   string
		inputs []engine.Input
		errors uint32 // expected counter brw_errors
		freed  int    // expected number of DoFree effects
		unpost int    // expected number of DoUnpost effects
	}{
		{"in order", []engine.Input{sent, bulk, good}, 0, 1, 0},
		{"reply before data", []engine.Input{sent, good, bulk}, 0, 1, 0},
		{"request sent last", []engine.Input{good, bulk, sent}, 0, 1, 0},
		{"a second reply", []engine.Input{sent, good, good, bulk}, 0, 1, 0},
		{"refused", []engine.Input{sent, {Kind: engine.Replied, Data: refusal}}, 1, 1, 1},
		{"not sent", []engine.Input{{Kind: engine.Sent, Failed: true}}, 1, 0, 0},
		{"no data", []engine.Input{sent, good, {Kind: engine.Bulk, Failed: true}}, 1, 0, 0},
		{"corrupt", []engine.Input{sent, {Kind: engine.Bulk, Corrupt: true}, good}, 1, 1, 0},
		{"another reply", []engine.Input{sent, {Kind: engine.Replied, Data: other}}, 1, 0, 0},
		{"no message", []engine.Input{sent, {Kind: engine.Replied, Data: ok[:9]}}, 1, 0, 0},
	} {
		l, call := oneCall(t, brw(wire.Read, 4096, wire.CheckFull, 1))
		if call.Bits != call.ID+1 || call.Length != 4096 || call.Op != wire.Read || call.Peer != node2 || call.Service != wire.BRWService {
			t.Errorf("%+v", call)
		}
		for i, in := range tt.inputs {
			if l.seen[engine.DoFree] > 0 {
				t.Errorf("%s: over before input %d", tt.name, i)
			}
			in.ID = call.ID
			l.step(node1.NID, in)
		}
		got := l.stat(node1).Framework
		if got.BRWErrors != tt.errors || got.Batches != 0 || l.seen[engine.DoFree] != tt.freed || l.seen[engine.DoUnpost] != tt.unpost || l.seen[engine.DoCancel] != 1-tt.freed {
			t.Errorf("%s: %+v, effects %v", tt.name, got, l.seen)
		}
	}
}

// TestBRWServer checks which BRW requests a server refuses, with which status and features, and what
// data it moves for the others.
func TestBRWServer(t *testing.T) {
	spec.Covers(t, "ST-18")
	for _, tt := range []struct {
		features wire.Features
		body     wire.BRW
		status   wire.Status
		answered wire.Features
	}{
		{1, wire.BRW{Op: wire.Read, Length: 12, Check: wire.CheckFull}, wire.OK, 1},
		{1, wire.BRW{Op: wire.Write, Length: 1 << 20, Check: wire.CheckDiscard}, wire.OK, 1},
		{0, wire.BRW{Op: wire.Write, Length: 8192, Check: wire.CheckNone}, wire.OK, 0},
		{0, wire.BRW{Op: wire.Write, Length: 8193, Check: wire.CheckNone}, wire.EINVAL, 0},
		{1, wire.BRW{Op: 3, Length: 8, Check: wire.CheckNone}, wire.EINVAL, 1},
		{1, wire.BRW{Op: wire.Read, Length: 8, Check: 5}, wire.EINVAL, 1},
		{1, wire.BRW{Op: wire.Read, Length: 8}, wire.EINVAL, 1},
		{3, wire.BRW{Op: wire.Read, Length: 8, Check: wire.CheckNone}, wire.EPROTO, 1},
		{1, wire.BRW{Op: wire.Read, Check: wire.CheckNone}, wire.EINVAL, 1},
		{1, wire.BRW{Op: wire.Read, Length: 1<<20 + 1, Check: wire.CheckNone}, wire.EINVAL, 1},
	} {
		l := newLab(t, engine.Config{}, node1)
		m, ok := l.ask(node1, tt.features, &tt.body)
		if moved := l.seen[engine.DoPut] + l.seen[engine.DoGet]; !ok || m.Status != tt.status || m.Features != tt.answered || (moved == 1) != (tt.status == wire.OK) {
			t.Errorf("%+v: %v, features %d, effects %v", tt, m.Status, m.Features, l.seen)
		}
	}
	l := newLab(t, engine.Config{}, node1)
	if m, ok := l.ask(node1, 4, &wire.Ping{Magic: wire.PingMagic, Sequence: 5}); !ok || m.Status != wire.EPROTO || m.Features != 1 || m.Body.(*wire.PingReply).Sequence != 5 {
		t.Errorf("ping with unknown features: %+v", m)
	}
}

// TestBulkBounds: if a client has a quarter of MaxBulk in transfer, its further requests wait; those
// beyond MaxWaiting are dropped. The request of a transfer that fails or never ends gets no reply, and
// the memory of the transfer is freed.
func TestBulkBounds(t *testing.T) {
	spec.Covers(t, "ST-19")
	l := newLab(t, engine.Config{MaxBulk: 8 << 20, MaxWaiting: 2}, node1)
	var moves []engine.Effect
	l.lost = func(_ nid.NID, e *engine.Effect) bool {
		if e.Kind == engine.DoPut {
			moves = append(moves, *e)
		}
		return e.Kind == engine.DoPut
	}
	for range 5 {
		l.send(node1, 1, &wire.BRW{Op: wire.Read, Length: 1 << 20, Check: wire.CheckNone})
	}
	if len(moves) != 2 || len(l.replies) != 0 {
		t.Fatalf("%d transfers, %d replies", len(moves), len(l.replies))
	}
	l.step(node1.NID, engine.Input{Kind: engine.Moved, ID: moves[0].ID})
	l.step(node1.NID, engine.Input{Kind: engine.Moved, ID: moves[1].ID, Failed: true})
	l.step(node1.NID, engine.Input{Kind: engine.Moved, ID: moves[1].ID}) // too late: this transfer has failed already
	if len(moves) != 4 || len(l.replies) != 1 {
		t.Fatalf("%d transfers, %d replies", len(moves), len(l.replies))
	}
	l.advance(node1.NID, 64*time.Second)
	got := l.nodes[node1.NID].Stats()
	if len(l.replies) != 1 || got.Overload != 1 || got.Dropped != 4 || got.BulkPut != 1<<20 || got.Moving != 0 || l.seen[engine.DoCancel] != 2 {
		t.Errorf("%+v, %d replies, effects %v", got, len(l.replies), l.seen)
	}
}

// TestInTurn: a node fetches, with a GET, the list of destinations of a console's request. Until the
// list has come, later requests of that console wait, at most MaxWaiting; further ones are dropped.
// Those that wait are answered in the order in which they came. A request whose list does not come
// gets no answer.
func TestInTurn(t *testing.T) {
	spec.Covers(t, "ST-19")
	l := newLab(t, engine.Config{MaxWaiting: 2}, node1)
	l.join(node1)
	var get engine.Effect
	l.lost = func(_ nid.NID, e *engine.Effect) bool {
		if e.Kind == engine.DoGet {
			get = *e
		}
		return e.Kind == engine.DoGet
	}
	test := wire.Test{BulkID: 9, Session: id1, Batch: 2, Service: wire.PingService, Loop: 1, Concurrency: 1, Client: true, Destinations: 1}
	l.send(node1, 1, &test)
	l.send(node1, 1, &test)
	l.send(node1, 1, &wire.Debug{Session: id1})
	l.send(node1, 1, &wire.Stat{Session: id1})
	if len(l.replies) != 0 || !get.List || get.Bits != 9 || get.Length != wire.DestinationSize {
		t.Fatalf("%d replies, %+v", len(l.replies), get)
	}
	list, err := wire.AppendDestinations(nil, []wire.Destination{node2}, false)
	if err != nil {
		t.Fatal(err)
	}
	l.step(node1.NID, engine.Input{Kind: engine.Moved, ID: get.ID, Data: list})
	if len(l.replies) != 1 || l.replies[0].Type != wire.TypeTest.Reply() || l.replies[0].Status != wire.OK {
		t.Fatalf("%+v", l.replies)
	}
	l.advance(node1.NID, 64*time.Second) // the GET of the second list has no answer, so that the list does not come
	if len(l.replies) != 2 || l.replies[1].Type != wire.TypeDebug.Reply() {
		t.Errorf("%+v", l.replies)
	}
	if got := l.nodes[node1.NID].Stats(); got.Overload != 1 || got.Dropped != 2 {
		t.Errorf("%+v", got)
	}
}
