package console_test

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/selftest"
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/console/engine"
	"ulnet/lnet/selftest/wire"
)

// TestBatch: a batch of tests runs between three nodes, of which one is the console's own, and is
// queried, measured and stopped.
func TestBatch(t *testing.T) {
	spec.Covers(t, "ST-25", "ST-27")
	l := newLab(t, 3, 1, selftest.Config{})
	l.must(0, &console.NewSession{Key: key, Name: "one", Features: 1})
	l.must(0, &engine.AddGroup{Key: key, Name: "clients", IDs: processes(0, 1)})
	l.must(0, &engine.AddGroup{Key: key, Name: "servers", IDs: processes(2)})
	test := console.Test{
		Batch: "batch", From: "clients", To: "servers", Service: wire.BRWService, Loop: 5, Concurrency: 2, Distribute: 1, Span: 1,
		BRW: wire.BRWParams{Op: wire.Write, Check: wire.CheckFull, Length: 16384},
	}
	if got := l.must(0, &engine.AddTest{Key: key, Test: test}); len(got) != 3 || !got[0].Server || got[1].Server {
		t.Errorf("%+v", got)
	}
	test.Service, test.Loop, test.BRW = wire.PingService, -1, wire.BRWParams{}
	l.must(0, &engine.AddTest{Key: key, Test: test})
	before := l.must(0, &engine.Stat{Key: key, Target: console.Target{Group: "servers"}})
	l.must(0, &engine.Run{Key: key, Batch: "batch"})
	l.run(100 * time.Millisecond)
	after := l.must(0, &engine.Stat{Key: key, Target: console.Target{Batch: "batch", Server: true}})
	if got := after[0].Stat.RPC; got.BulkGet-before[0].Stat.RPC.BulkGet != 2*2*5*16384 {
		t.Errorf("%+v", got)
	}
	if got := console.Rates(before, after, 100*time.Millisecond); got.Nodes != 1 || got.Received.Avg < 1000 {
		t.Errorf("%+v", got)
	}
	for number, want := range map[int]uint32{0: 1, 1: 0, 2: 2} {
		for _, a := range l.must(0, &engine.Query{Key: key, Batch: "batch", Test: number}) {
			if a.Active != want {
				t.Errorf("test %d: %+v", number, a)
			}
		}
	}
	b, err := l.consoles[0].Batch("batch")
	if err != nil || !b.Running || len(b.Tests) != 2 || b.ClientCounts.Active != 2 || b.Tests[1].ServerCounts.Active != 1 {
		t.Errorf("%+v, %v", b, err)
	}
	l.must(0, &engine.Stop{Key: key, Batch: "batch", Force: true})
	for _, a := range l.must(0, &engine.Query{Key: key, Batch: "batch"}) {
		if a.Active != 0 {
			t.Errorf("%+v", a)
		}
	}
	var info console.TestInfo
	if b, err = l.consoles[0].Batch("batch"); err != nil || b.Running {
		t.Errorf("%+v, %v", b, err)
	}
	if info = b.Tests[0]; info.Service != wire.BRWService || info.BRW.Length != 16384 {
		t.Errorf("%+v", info)
	}
	var list []console.Batch
	if list, err = l.consoles[0].Batches(); err != nil || len(list) != 1 || list[0].Name != "batch" {
		t.Errorf("%+v, %v", list, err)
	}
	l.must(0, &engine.EndSession{Key: key})
}
