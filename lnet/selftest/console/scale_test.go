package console_test

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest"
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/console/engine"
	"ulnet/lnet/selftest/wire"
)

// TestThousandNodes: on whole stacks, 1000 nodes (in short runs fewer) join, get a test, run it and
// are measured within 5 s.
func TestThousandNodes(t *testing.T) {
	spec.Covers(t, "G-ST-3")
	nodes := effort.Of(200, 1000, 1000)
	if effort.Race {
		nodes = 100 // the race detector makes stacks slow and large
	}
	l := newLab(t, 1+nodes, 1, selftest.Config{})
	ids := make([]nid.ProcessID, nodes)
	for i := range ids {
		ids[i] = process(1 + i)
	}
	begin := l.fabric.Now()
	l.must(0, &console.NewSession{Key: key, Name: "large", Features: 1})
	l.must(0, &engine.AddGroup{Key: key, Name: "clients", IDs: ids[:nodes/2]})
	l.must(0, &engine.AddGroup{Key: key, Name: "servers", IDs: ids[nodes/2:]})
	l.must(0, &engine.AddTest{Key: key, Test: console.Test{
		Batch: "batch", From: "clients", To: "servers", Service: wire.BRWService, Loop: 1, Concurrency: 1, Distribute: 1, Span: 2,
		BRW: wire.BRWParams{Op: wire.Read, Check: wire.CheckFull, Length: 4096},
	}})
	l.must(0, &engine.Run{Key: key, Batch: "batch"})
	l.run(100 * time.Millisecond)
	var put uint64
	for _, a := range l.must(0, &engine.Stat{Key: key, Target: console.Target{Group: "servers"}}) {
		put += a.Stat.RPC.BulkPut
	}
	if put != uint64(nodes/2*2*4096) {
		t.Errorf("the servers have sent %d bytes", put)
	}
	if took := l.fabric.Now() - begin; took > 5*time.Second {
		t.Errorf("it took %v", took)
	} else {
		t.Logf("it took %v", took)
	}
	l.must(0, &engine.EndSession{Key: key})
}
