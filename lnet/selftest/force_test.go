package selftest_test

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/selftest"
	"ulnet/lnet/selftest/wire"
)

// TestStopByForce: writes of a test that is stopped by force keep the client's share of the server's memory, because the client has
// withdrawn their data, so that the server's GETs get no answer. When the test is run again, it has the memory after a few
// seconds, and none of its RPCs fails.
func TestStopByForce(t *testing.T) {
	spec.Covers(t, "ST-19")
	l := newLab(t, 2, selftest.Config{})
	for _, node := range []int{1, 2} {
		l.want(node, wire.MakeSessionService, &wire.MakeSession{Session: session}, wire.OK)
	}
	l.addClient(wire.Test{Service: wire.BRWService, Loop: 10, Concurrency: 64, StopOnError: true, BRW: wire.BRWParams{Op: wire.Write, Length: 1 << 20, Check: wire.CheckNone}}, 2)
	l.wait = 2 * time.Millisecond
	l.want(1, wire.BatchService, &wire.Batch{Session: session, Batch: 2, Op: wire.RunBatch}, wire.OK)
	l.want(1, wire.BatchService, &wire.Batch{Session: session, Batch: 2, Op: wire.StopBatch, Argument: 1}, wire.OK)
	before, client := l.agents[2].Status(), l.agents[1].Status()
	if before.Moving != 16<<20 || client.Calls != 0 || client.Sent >= 640 {
		t.Fatalf("server: %+v\nclient: %+v", before, client)
	}
	l.run(200 * time.Millisecond)
	l.want(1, wire.BatchService, &wire.Batch{Session: session, Batch: 2, Op: wire.RunBatch}, wire.OK)
	l.run(10 * time.Second)
	after, client := l.agents[2].Status(), l.agents[1].Status()
	if after.BulkGet-before.BulkGet != 640<<20 || after.Moving != 0 || client.Calls != 0 || client.BRWErrors != 0 {
		t.Errorf("server: %+v\nclient: %+v", after, client)
	}
}
