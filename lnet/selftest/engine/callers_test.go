package engine_test

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/wire"
)

// endWrite ends an RPC of a BRW test at node1.
func (l *lab) endWrite(call engine.Effect) {
	reply, err := (&wire.Message{Header: wire.Header{Features: 1}, Body: &wire.BRWReply{}}).AppendBinary(nil)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, in := range []engine.Input{{Kind: engine.Sent}, {Kind: engine.Bulk}, {Kind: engine.Replied, Data: reply}} {
		in.ID = call.ID
		l.step(node1.NID, in)
	}
}

// TestCallMemory: MaxBulk bounds the bulk data of the node's own RPCs, of all tests together. Units wait
// in order for memory. An RPC counts for at least a page, and its offset counts, too.
func TestCallMemory(t *testing.T) {
	spec.Covers(t, "ST-19")
	for _, tt := range []struct {
		length, offset uint32
		most           int // RPCs that may be under way if MaxBulk is 4 MiB
	}{{1 << 20, 0, 4}, {1 << 20, 8, 3}, {8, 0, 1024}} {
		l := newLab(t, engine.Config{MaxBulk: 4 << 20}, node1)
		l.join(node1)
		for range 2 {
			test := brw(wire.Write, tt.length, wire.CheckNone, 1)
			test.BRW.Offset, test.Concurrency = tt.offset, 1000
			l.addClient(node1, test, node2)
		}
		calls := l.keep(engine.DoCall)
		l.batch(node1, wire.RunBatch, 0, 0)
		if len(*calls) != tt.most {
			t.Errorf("%+v: %d RPCs are under way", tt, len(*calls))
		}
		for i := 0; i < len(*calls); i++ {
			l.endWrite((*calls)[i])
		}
		if got := l.stat(node1); len(*calls) != 2000 || got.Framework.Batches != 0 || got.Framework.BRWErrors != 0 {
			t.Errorf("%+v: %d RPCs in the end, %+v", tt, len(*calls), got)
		}
	}
}

// TestStopWaiting: units that wait for memory stop like other units, and send no RPC afterwards.
func TestStopWaiting(t *testing.T) {
	spec.Covers(t, "ST-16")
	l := newLab(t, engine.Config{MaxBulk: 1 << 20}, node1)
	l.join(node1)
	test := brw(wire.Write, 1<<20, wire.CheckNone, -1)
	test.Concurrency = 3
	l.addClient(node1, test, node2)
	calls := l.keep(engine.DoCall)
	for run := range 3 {
		l.batch(node1, wire.RunBatch, 0, 0)
		l.batch(node1, wire.StopBatch, 0, 0)
		if got := l.batch(node1, wire.QueryBatch, 1, 0).Active; got != 1 {
			t.Errorf("run %d: %d units after a stop, want 1", run, got)
		}
		l.batch(node1, wire.StopBatch, 0, 1)
		if got := l.batch(node1, wire.QueryBatch, 1, 0).Active; got != 0 || len(*calls) != run+1 || l.seen[engine.DoCancel] != run+1 {
			t.Errorf("run %d: %d units, %d RPCs, effects %v", run, got, len(*calls), l.seen)
		}
	}
}

// TestBackOff: a unit whose RPCs fail one after the other waits longer each time, up to a second.
// After an RPC that succeeds, the wait after the next failure is the shortest one again.
func TestBackOff(t *testing.T) {
	spec.Covers(t, "ST-16")
	l := newLab(t, engine.Config{}, node1)
	l.join(node1)
	test := brw(wire.Write, 4096, wire.CheckNone, -1)
	l.addClient(node1, test, node2)
	calls := l.keep(engine.DoCall)
	l.batch(node1, wire.RunBatch, 0, 0)
	for _, ms := range []time.Duration{10, 20, 40, 80, 160, 320, 640, 1000, 1000, 0, 10} {
		before := len(*calls)
		latest := (*calls)[before-1]
		if ms == 0 {
			l.endWrite(latest)
		} else {
			l.step(node1.NID, engine.Input{Kind: engine.Sent, ID: latest.ID, Failed: true})
			l.advance(node1.NID, ms*time.Millisecond-1)
			if len(*calls) != before {
				t.Fatalf("the next RPC comes less than %d ms after the one that failed", ms)
			}
			l.advance(node1.NID, 1)
		}
		if len(*calls) != before+1 {
			t.Fatalf("after %d ms there are %d RPCs, want %d", ms, len(*calls), before+1)
		}
	}
}
