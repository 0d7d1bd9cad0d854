package engine_test

import (
	"syscall"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/selftest/console/engine"
	"ulnet/lnet/selftest/wire"
)

// endlessBatch makes a session in which hosts 1 and 2 send PINGs without end to host 3.
func endlessBatch(t *testing.T) *lab {
	t.Helper()
	l := newLab(t, 5, engine.Config{})
	l.open(1, 2, 3)
	test := ping("c", "s")
	test.Loop = -1
	l.must(
		0, &engine.AddGroup{Key: key, Name: "c", IDs: hostIDs(1, 2)}, &engine.AddGroup{Key: key, Name: "s", IDs: hostIDs(3)},
		&engine.AddTest{Key: key, Test: test}, &engine.Run{Key: key, Batch: "batch"},
	)
	l.run(10 * time.Millisecond)
	return l
}

// TestNodeDies: a client that dies is Down. The other client goes on, until the batch is stopped.
func TestNodeDies(t *testing.T) {
	spec.Covers(t, "ST-48")
	l := endlessBatch(t)
	l.host(1).dead = true
	if got := l.do(0, &engine.Ping{Key: key, Target: engine.Target{Group: "c"}}).Answers; got[0].State != engine.Down || got[0].Failed != syscall.ETIMEDOUT || got[1].State != engine.Active {
		t.Errorf("%+v", got)
	}
	before := l.host(2).node.Stats().Sent
	if got := l.do(0, &engine.Query{Key: key, Batch: "batch"}).Answers; got[0].Failed == 0 || got[1].Active != 1 {
		t.Errorf("%+v", got)
	}
	if got := l.host(2).node.Stats().Sent; got < before+100 {
		t.Errorf("%d RPCs, before %d", got, before)
	}
	if got := l.do(0, &engine.Stop{Key: key, Batch: "batch"}).Answers; got[0].Failed == 0 || !got[1].OK() {
		t.Errorf("%+v", got)
	}
	l.run(10 * time.Millisecond)
	if got := l.host(2).node.Stats(); got.Calls != 0 || got.PingErrors != 0 {
		t.Errorf("%+v", got)
	}
}

// TestHeir: after a console has died, another console gets its nodes only if it makes its session with Force. When a
// node changes to the other console, the tests of the node end.
func TestHeir(t *testing.T) {
	spec.Covers(t, "ST-48")
	l := endlessBatch(t)
	l.host(0).dead = true
	add := &engine.AddGroup{Key: 9, Name: "g", IDs: hostIDs(2)}
	l.must(4, &engine.NewSession{Key: 9, Name: "polite", Features: 1})
	if got := l.do(4, add).Answers; len(got) != 1 || got[0].Status != syscall.EBUSY || l.host(2).node.Stats().Calls != 1 {
		t.Errorf("%+v", got)
	}
	l.must(4, &engine.NewSession{Key: 9, Name: "heir", Features: 1, Force: true}, add)
	before := l.host(2).node.Stats()
	if before.Name != "heir" || before.Calls != 0 {
		t.Errorf("%+v", before)
	}
	l.run(time.Second)
	if got := l.host(2).node.Stats(); got.Sent != before.Sent || l.host(1).node.Stats().Calls != 1 {
		t.Errorf("%+v, before %+v", got, before)
	}
	l.must(4, &engine.EndSession{Key: 9})
	if got := l.host(2).node.Stats().Session; got != wire.NoSession() {
		t.Error(got)
	}
}
