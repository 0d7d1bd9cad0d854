package engine_test

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/wire"
)

func ping(loop int32, concurrency uint32) wire.Test {
	return wire.Test{Service: wire.PingService, Loop: loop, Concurrency: concurrency, StopOnError: true}
}

func brw(op wire.BRWOp, length uint32, check wire.Check, loop int32) wire.Test {
	return wire.Test{Service: wire.BRWService, Loop: loop, Concurrency: 1, BRW: wire.BRWParams{Op: op, Length: length, Check: check}}
}

// TestAddTest checks with which status each wrong TEST request is refused, in the order of selftest §6, and
// that MaxBatches, MaxTests and MaxUnits hold.
func TestAddTest(t *testing.T) {
	spec.Covers(t, "ST-13")
	l := newLab(t, engine.Config{MaxUnits: 4, MaxBatches: 2, MaxTests: 3}, node1)
	l.join(node1)
	l.lists[1], _ = wire.AppendDestinations(nil, []wire.Destination{node2, node2}, false)
	for bits, pid := range map[uint64]nid.PID{7: 0, 8: nid.PIDAny} {
		l.lists[bits], _ = wire.AppendDestinations(nil, []wire.Destination{node2, {NID: node2.NID, PID: pid}}, false)
	}
	for _, tt := range []struct {
		name   string
		change func(*wire.Test)
		status wire.Status
	}{
		{"loop", func(b *wire.Test) { b.Loop = 0 }, wire.EINVAL},
		{"no concurrency", func(b *wire.Test) { b.Concurrency = 0 }, wire.EINVAL},
		{"concurrency", func(b *wire.Test) { b.Concurrency = 1025 }, wire.EINVAL},
		{"destinations", func(b *wire.Test) { b.Destinations = 256*341 + 1 }, wire.EINVAL},
		{"client of nothing", func(b *wire.Test) { b.Client = true }, wire.EINVAL},
		{"service", func(b *wire.Test) { b.Service = wire.StatService }, wire.EINVAL},
		{"any session", func(b *wire.Test) { b.Session = wire.NoSession() }, wire.EINVAL},
		{"another session", func(b *wire.Test) { b.Session = id2 }, wire.ENOENT},
		{"units", func(b *wire.Test) { b.Client, b.Destinations, b.Concurrency = true, 2, 3 }, wire.ENOMEM},
		{"length", func(b *wire.Test) { clientOf(b, 12, 0) }, wire.EINVAL},
		{"no length", func(b *wire.Test) { clientOf(b, 0, 0) }, wire.EINVAL},
		{"more than 1 MiB", func(b *wire.Test) { clientOf(b, 1<<20+8, 0) }, wire.EINVAL},
		{"offset", func(b *wire.Test) { clientOf(b, 16, 4) }, wire.EINVAL},
		{"check", func(b *wire.Test) { clientOf(b, 16, 0); b.BRW.Check = 5 }, wire.EINVAL},
		{"PID 0", func(b *wire.Test) { clientOf(b, 16, 0); b.BulkID = 7 }, wire.EINVAL},
		{"any PID", func(b *wire.Test) { clientOf(b, 16, 0); b.BulkID = 8 }, wire.EINVAL},
		{"server", func(*wire.Test) {}, wire.OK},
		{"client", func(b *wire.Test) { clientOf(b, 16, 4096+8) }, wire.OK},
		{"another batch", func(b *wire.Test) { b.Batch = 3 }, wire.OK},
		{"too many tests", func(b *wire.Test) { b.Batch = 3 }, wire.ENOMEM},
		{"too many batches", func(b *wire.Test) { b.Batch = 4 }, wire.ENOMEM},
	} {
		test := ping(1, 1)
		test.Session, test.Batch, test.BulkID = id1, 2, 1
		tt.change(&test)
		if m, ok := l.ask(node1, 1, &test); !ok || m.Status != tt.status {
			t.Errorf("%s: %v, %t, want %v", tt.name, m.Status, ok, tt.status)
		}
	}
}

// clientOf changes a TEST request to that for a client of a BRW test with two destinations.
func clientOf(b *wire.Test, length, offset uint32) {
	b.Client, b.Destinations, b.Service = true, 2, wire.BRWService
	b.BRW = wire.BRWParams{Op: wire.Read, Check: wire.CheckFull, Length: length, Offset: offset}
}

// TestRun: all units of all clients run their loops, reads and writes move data that are
// checked, and the counters of both sides are those of selftest §9.
func TestRun(t *testing.T) {
	spec.Covers(t, "ST-14", "ST-15")
	l := newLab(t, engine.Config{}, node1, node2)
	l.join(node1, node2)
	l.want(node2, &wire.Test{Session: id1, Batch: 2, Service: wire.PingService, Loop: 4, Concurrency: 1}, wire.OK)
	l.addClient(node1, ping(3, 2), node2, node1)
	l.addClient(node1, brw(wire.Read, 1<<20, wire.CheckFull, 2), node2)
	l.addClient(node1, brw(wire.Write, 4096+8, wire.CheckSimple, 1), node2)
	l.batch(node1, wire.RunBatch, 0, 0)
	client, server := l.stat(node1), l.stat(node2)
	const pings = 3 * 2 // RPCs of the PING test to each of its two destinations
	if got, want := client.RPC.Sent, uint32(2*pings+2+1); got != want {
		t.Errorf("%d RPCs were sent, want %d", got, want)
	}
	if got := server.RPC; got.Received != pings+2+1+3 || got.BulkPut != 2<<20 || got.BulkGet != 4096+8 || got.Sent != 0 {
		t.Errorf("server: %+v", got)
	}
	if client.Framework.BRWErrors+client.Framework.PingErrors+client.RPC.Errors+client.RPC.Dropped+client.RPC.Expired != 0 {
		t.Errorf("client: %+v", client)
	}
	if active := l.batch(node1, wire.QueryBatch, 0, 0).Active; active != 0 {
		t.Errorf("%d tests run", active)
	}
	l.batch(node1, wire.RunBatch, 0, 0) // the batch runs a second time
	if got, want := l.stat(node1).RPC.Sent, 2*(2*uint32(pings)+2+1); got != want {
		t.Errorf("%d RPCs after the second run, want %d", got, want)
	}
	if l.seen[engine.DoFree] != int(2*(2*pings+2+1)) || l.seen[engine.DoCancel] != 0 {
		t.Errorf("effects %v", l.seen)
	}
}

// TestQueryAndStop: a query of a batch without end counts the tests and units that run. The batch stops after its RPCs
// or, by force, at once, and takes no test while it runs.
func TestQueryAndStop(t *testing.T) {
	spec.Covers(t, "ST-14", "ST-16")
	l := newLab(t, engine.Config{RPCTimeout: -1}, node1)
	l.join(node1)
	test := ping(1, 1)
	test.Session, test.Batch = id1, 2
	l.want(node1, &test, wire.OK) // test 1, for which node1 is a server
	l.addClient(node1, ping(-1, 3), node2, node2)
	var calls []engine.Effect
	l.lost = func(_ nid.NID, e *engine.Effect) bool {
		if e.Kind == engine.DoCall {
			calls = append(calls, *e)
		}
		return e.Kind == engine.DoCall
	}
	l.batch(node1, wire.RunBatch, 0, 0)
	l.batch(node1, wire.RunBatch, 0, 0) // no effect: the batch runs already
	if len(calls) != 6 {
		t.Fatalf("%d RPCs under way", len(calls))
	}
	for number, want := range []uint32{1, 0, 6} {
		if got := l.batch(node1, wire.QueryBatch, int32(number), 0).Active; got != want {
			t.Errorf("test %d: %d are active, want %d", number, got, want)
		}
	}
	l.want(node1, &wire.Batch{Session: id1, Batch: 2, Op: wire.QueryBatch, Test: 3}, wire.ENOENT)
	l.want(node1, &wire.Batch{Session: id1, Batch: 2, Op: wire.QueryBatch, Test: -1}, wire.EINVAL)
	l.want(node1, &wire.Batch{Session: id1, Batch: 9, Op: wire.QueryBatch}, wire.ENOENT)
	l.want(node1, &test, wire.EBUSY)
	l.batch(node1, wire.StopBatch, 0, 0)
	l.endPing(calls[0])
	if got := l.batch(node1, wire.QueryBatch, 2, 0).Active; got != 5 || len(calls) != 6 {
		t.Errorf("after a stop %d units are active, %d RPCs", got, len(calls))
	}
	l.batch(node1, wire.StopBatch, 0, 1)
	if got := l.batch(node1, wire.QueryBatch, 0, 0).Active; got != 0 || l.seen[engine.DoCancel] != 5 {
		t.Errorf("after a stop by force %d tests are active, effects %v", got, l.seen)
	}
	l.endPing(calls[1]) // too late: the stop has aborted this RPC
	if got := l.stat(node1); got.Framework.PingErrors != 0 || got.Framework.Batches != 0 {
		t.Errorf("%+v", got)
	}
}

// endPing ends an RPC of a PING test at its client.
func (l *lab) endPing(call engine.Effect) {
	m, err := wire.ParseMessage(call.Data)
	if err != nil {
		l.t.Fatal(err)
	}
	reply := wire.Message{Header: wire.Header{Features: 1}, Body: &wire.PingReply{Magic: wire.PingMagic, Sequence: m.Body.(*wire.Ping).Sequence}}
	data, err := reply.AppendBinary(nil)
	if err != nil {
		l.t.Fatal(err)
	}
	l.step(node1.NID, engine.Input{Kind: engine.Sent, ID: call.ID})
	l.step(node1.NID, engine.Input{Kind: engine.Replied, ID: call.ID, Data: data})
}

// TestSessionEndsTests: a session that ends, in any way, ends its RPCs.
func TestSessionEndsTests(t *testing.T) {
	spec.Covers(t, "ST-16", "ST-48")
	for name, end := range map[string]func(l *lab){
		"removed": func(l *lab) { l.want(node1, &wire.RemoveSession{Session: id1}, wire.OK) },
		"forced":  func(l *lab) { l.want(node1, &wire.MakeSession{Session: id2, Force: true}, wire.OK) },
		"expired": func(l *lab) { l.advance(node1.NID, 100*time.Second) },
	} {
		l := newLab(t, engine.Config{RPCTimeout: -1}, node1)
		l.join(node1)
		l.addClient(node1, ping(-1, 3), node2)
		l.lost = func(_ nid.NID, e *engine.Effect) bool { return e.Kind == engine.DoCall }
		l.batch(node1, wire.RunBatch, 0, 0)
		end(l)
		if got := l.nodes[node1.NID].Stats(); l.seen[engine.DoCancel] != 3 || got.Calls != 0 {
			t.Errorf("%s: effects %v, %d RPCs are left", name, l.seen, got.Calls)
		}
	}
}

// TestErrorAtStop: an RPC that is under way when its batch is stopped counts as an error if its data are damaged or the server refuses
// it, as at a kernel node. If the network fails, it does not count.
func TestErrorAtStop(t *testing.T) {
	spec.Covers(t, "ST-16")
	reply := func(status wire.Status) engine.Input {
		b, _ := (&wire.Message{Header: wire.Header{Features: 1}, Status: status, Body: &wire.BRWReply{}}).AppendBinary(nil)
		return engine.Input{Kind: engine.Replied, Data: b}
	}
	sent := engine.Input{Kind: engine.Sent}
	for name, tt := range map[string]struct {
		inputs []engine.Input
		errors uint32
	}{
		"good":     {[]engine.Input{sent, {Kind: engine.Bulk}, reply(wire.OK)}, 0},
		"corrupt":  {[]engine.Input{sent, {Kind: engine.Bulk, Corrupt: true}, reply(wire.OK)}, 1},
		"refused":  {[]engine.Input{sent, reply(wire.EBADMSG)}, 1},
		"not sent": {[]engine.Input{{Kind: engine.Sent, Failed: true}}, 0},
		"no data":  {[]engine.Input{sent, {Kind: engine.Bulk, Failed: true}}, 0},
	} {
		l, call := oneCall(t, brw(wire.Read, 4096, wire.CheckFull, -1))
		l.batch(node1, wire.StopBatch, 0, 0)
		for _, in := range tt.inputs {
			in.ID = call.ID
			l.step(node1.NID, in)
		}
		if got := l.stat(node1).Framework; got.BRWErrors != tt.errors || got.Batches != 0 {
			t.Errorf("%s: %+v, want %d errors", name, got, tt.errors)
		}
	}
	for sequence, want := range []uint32{0, 1} { // the right sequence number is 0
		l, call := oneCall(t, ping(-1, 1))
		l.batch(node1, wire.StopBatch, 0, 0)
		b, _ := (&wire.Message{Header: wire.Header{Features: 1}, Body: &wire.PingReply{Magic: wire.PingMagic, Sequence: uint32(sequence)}}).AppendBinary(nil)
		l.step(node1.NID, engine.Input{Kind: engine.Sent, ID: call.ID})
		l.step(node1.NID, engine.Input{Kind: engine.Replied, ID: call.ID, Data: b})
		if got := l.stat(node1).Framework; got.PingErrors != want || got.Batches != 0 {
			t.Errorf("sequence %d: %+v, want %d errors", sequence, got, want)
		}
	}
}
