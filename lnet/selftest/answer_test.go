package selftest_test

import (
	"testing"
	"time"

	"ulnet/lnet/selftest"
	"ulnet/lnet/selftest/wire"
)

// TestPingMemory: a PING test allocates no memory except for the fields of the request and of the
// reply.
func TestPingMemory(t *testing.T) {
	l := newLab(t, 2, selftest.Config{})
	l.want(1, wire.MakeSessionService, &wire.MakeSession{Session: session, Name: "memory"}, wire.OK)
	l.addClient(wire.Test{Service: wire.PingService, Loop: -1, Concurrency: 64}, 2)
	l.wait = 10 * time.Millisecond
	l.want(1, wire.BatchService, &wire.Batch{Session: session, Batch: 2, Op: wire.RunBatch}, wire.OK)
	before := l.agents[1].Status().Sent
	made := testing.AllocsPerRun(1, func() { l.run(10 * time.Millisecond) }) // AllocsPerRun calls the function twice
	// The bound is above the usual 2 allocations, because pools keep less memory under the race detector.
	if rpcs := float64(l.agents[1].Status().Sent-before) / 2; rpcs < 1000 || made > 5*rpcs {
		t.Errorf("%.0f allocations for %.0f RPCs, want 2 for each", made, rpcs)
	}
}
