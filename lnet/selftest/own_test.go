package selftest_test

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/selftest"
	"ulnet/lnet/selftest/wire"
)

// own makes a session on one node, with a PING test whose destination is the node itself.
func own(t *testing.T, destinations int, test wire.Test) *lab {
	t.Helper()
	l := newLab(t, 1, selftest.Config{})
	l.want(1, wire.MakeSessionService, &wire.MakeSession{Session: session}, wire.OK)
	to := make([]int, destinations)
	for i := range to {
		to[i] = 1
	}
	test.Service = wire.PingService
	l.addClient(test, to...)
	l.wait = 500 * time.Microsecond
	return l
}

// TestOwnNode: a node runs a test without end whose destination is the node itself, so that messages
// arrive while they are sent. The goroutine that brings the request to run the test returns all the same.
func TestOwnNode(t *testing.T) {
	spec.Covers(t, "ST-19")
	l := own(t, 1, wire.Test{Loop: -1, Concurrency: 4})
	batch := wire.Batch{Session: session, Batch: 2, Op: wire.RunBatch}
	l.want(1, wire.BatchService, &batch, wire.OK)
	before := l.agents[1].Status().Sent
	batch.Op, batch.Argument = wire.StopBatch, 1
	l.want(1, wire.BatchService, &batch, wire.OK)
	if got := l.agents[1].Status(); got.Sent <= before || got.Calls != 0 || got.PingErrors != 0 {
		t.Errorf("%d RPCs before the stop, %+v", before, got)
	}
}

// TestPending: requests that come faster than their effects are carried out are dropped and
// counted.
func TestPending(t *testing.T) {
	spec.Covers(t, "ST-19")
	const destinations, each = 9, 1024
	l := own(t, destinations, wire.Test{Loop: 1, Concurrency: each, StopOnError: true})
	l.want(1, wire.BatchService, &wire.Batch{Session: session, Batch: 2, Op: wire.RunBatch}, wire.OK)
	l.run(time.Millisecond)
	got := l.agents[1].Status()
	if got.Sent != destinations*each || got.Overload == 0 || got.Calls != int(got.Overload) {
		t.Errorf("%+v", got)
	}
}
