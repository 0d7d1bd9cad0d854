package engine_test

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/wire"
)

// TestLatencies: each RPC that succeeds is counted with the time from its request to its end.
func TestLatencies(t *testing.T) {
	spec.Covers(t, "ST-47")
	l := newLab(t, engine.Config{RPCTimeout: -1, SessionTimeout: -1}, node1)
	l.join(node1)
	times := []time.Duration{0, 1, 31, 32, 63, 64, 65, 1000, 4095, 4096, 123456, time.Millisecond, time.Second, 64 * time.Second, 1<<40 - 1, 1 << 40, time.Hour}
	l.addClient(node1, ping(int32(len(times)+1), 1), node2)
	calls := []engine.Effect{}
	l.lost = func(_ nid.NID, e *engine.Effect) bool {
		if e.Kind == engine.DoCall {
			calls = append(calls, *e)
		}
		return e.Kind == engine.DoCall
	}
	l.batch(node1, wire.RunBatch, 0, 0)
	for i, d := range times {
		l.now += d
		l.endPing(calls[i])
	}
	l.step(node1.NID, engine.Input{Kind: engine.Sent, ID: calls[len(times)].ID, Failed: true})
	got, most := l.nodes[node1.NID].Latencies(), time.Duration(1<<40-1)
	var count uint64
	for i, b := range got {
		count += b.RPCs
		if i > 0 && b.UpTo <= got[i-1].UpTo {
			t.Errorf("%v after %v", b.UpTo, got[i-1].UpTo)
		}
	}
	if count != uint64(len(times)) {
		t.Errorf("%d RPCs of %d: %+v", count, len(times), got)
	}
	for _, d := range times {
		found := false
		for _, b := range got {
			found = found || min(d, most) <= b.UpTo && b.UpTo-b.UpTo/32 <= min(d, most)
		}
		if !found {
			t.Errorf("%v is in no bucket of %+v", d, got)
		}
	}
}
