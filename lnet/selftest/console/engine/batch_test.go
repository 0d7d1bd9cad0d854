package engine_test

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/selftest/console/engine"
	"ulnet/lnet/selftest/wire"
)

// TestServersFirst: clients get a test only when all servers have it; the test is part of the
// batch in any case, and its groups cannot change any more.
func TestServersFirst(t *testing.T) {
	spec.Covers(t, "ST-25")
	l := newLab(t, 4, engine.Config{})
	l.open(1)
	l.must(0, &engine.AddGroup{Key: key, Name: "servers", IDs: hostIDs(2, 3)})
	l.host(3).fake = func(m *wire.Message) *wire.Message {
		return &wire.Message{Header: wire.Header{Features: 1}, Status: wire.ENOMEM, Body: &wire.TestReply{Session: m.Body.(*wire.Test).Session}}
	}
	got := l.do(0, &engine.AddTest{Key: key, Test: ping("g", "servers")})
	if got.err != nil || len(got.Answers) != 2 || !got.Answers[0].Server || got.Answers[1].Status != syscall.ENOMEM {
		t.Errorf("%+v", got)
	}
	if got := l.host(1).took(wire.TypeTest); len(got) != 0 {
		t.Errorf("the client got %+v", got)
	}
	l.host(3).fake = nil
	got = l.do(0, &engine.AddTest{Key: key, Test: ping("g", "servers")})
	if got.err != nil || len(got.Answers) != 3 || got.Answers[2].Server {
		t.Errorf("%+v", got)
	}
	b, err := l.host(0).console.Batch("batch")
	if err != nil || len(b.Tests) != 2 || len(b.Clients) != 1 || len(b.Servers) != 2 || b.Tests[0].ServerCounts.Active != 2 || b.Tests[1].Test != ping("g", "servers") {
		t.Errorf("%+v, %v", b, err)
	}
	for _, c := range []engine.Command{
		&engine.AddNodes{Key: key, Group: "servers", IDs: hostIDs(1)}, &engine.DeleteGroup{Key: key, Group: "g"},
		&engine.RemoveNodes{Key: key, Group: "servers", IDs: hostIDs(2)}, &engine.CleanGroup{Key: key, Group: "servers"}, &engine.RefreshGroup{Key: key, Group: "g"},
	} {
		l.fails(0, c, syscall.EBUSY)
	}
}

// TestInactive: all nodes of a test must be active.
func TestInactive(t *testing.T) {
	spec.Covers(t, "ST-25")
	l := newLab(t, 3, engine.Config{})
	l.open(1)
	l.host(2).dead = true
	l.do(0, &engine.AddGroup{Key: key, Name: "mixed", IDs: hostIDs(1, 2)})
	l.do(0, &engine.AddGroup{Key: key, Name: "none", IDs: hostIDs(2)})
	l.fails(0, &engine.AddTest{Key: key, Test: ping("g", "mixed")}, syscall.ENETDOWN)
	l.fails(0, &engine.AddTest{Key: key, Test: ping("mixed", "g")}, syscall.ENETDOWN)
	l.fails(0, &engine.AddTest{Key: key, Test: ping("g", "none")}, syscall.EINVAL)
	l.fails(0, &engine.AddTest{Key: key, Test: ping("none", "g")}, syscall.EINVAL)
	l.fails(0, &engine.AddTest{Key: key, Test: ping("g", "nosuch")}, syscall.ENOENT)
	l.fails(0, &engine.AddTest{Key: key, Test: ping("nosuch", "g")}, syscall.ENOENT)
	other := ping("g", "g")
	other.Batch = "nosuch"
	l.fails(0, &engine.AddTest{Key: key, Test: other}, syscall.ENOENT)
}

// TestRun: a batch runs, is queried, cannot get tests, and is stopped; it also ends by itself. A
// node that is client and server of tests has them under other numbers than the batch.
func TestRun(t *testing.T) {
	spec.Covers(t, "ST-27")
	l := newLab(t, 4, engine.Config{MaxTests: 3})
	l.open(1, 2)
	l.must(0, &engine.AddGroup{Key: key, Name: "one", IDs: hostIDs(3)})
	endless, brw := ping("g", "one"), ping("g", "g")
	endless.Loop, endless.Concurrency = -1, 5
	brw.Service, brw.BRW = wire.BRWService, wire.BRWParams{Op: wire.Read, Check: wire.CheckSimple, Length: 4096}
	brw.Span = 2
	l.must(0, &engine.AddTest{Key: key, Test: brw}, &engine.AddTest{Key: key, Test: endless}, &engine.Run{Key: key, Batch: "batch", Timeout: 7 * time.Second})
	for i := 1; i <= 2; i++ {
		got := l.host(i).took(wire.TypeBatch)
		if len(got) != 1 || *got[0].Body.(*wire.Batch) != (wire.Batch{Session: wire.Session{Console: hostID(0).NID, Stamp: 1001}, Batch: 1, Op: wire.RunBatch, Argument: 7}) {
			t.Errorf("%+v", got[0].Body)
		}
	}
	if got := l.host(3).took(wire.TypeBatch); len(got) != 0 {
		t.Errorf("the server got %+v", got)
	}
	l.run(20 * time.Millisecond)
	for number, want := range map[int]uint32{0: 1, 1: 0, 2: 5} {
		for _, a := range l.must(0, &engine.Query{Key: key, Batch: "batch", Test: number}) {
			if a.Active != want {
				t.Errorf("test %d: %+v, want %d", number, a, want)
			}
		}
	}
	l.fails(0, &engine.AddTest{Key: key, Test: endless}, syscall.EINVAL)
	l.fails(0, &engine.Query{Key: key, Batch: "batch", Test: 3}, syscall.ENOENT)
	l.fails(0, &engine.Query{Key: key, Batch: "batch", Test: -1}, syscall.ENOENT)
	for _, c := range []engine.Command{&engine.Run{Key: key, Batch: "x"}, &engine.Stop{Key: key, Batch: "x"}, &engine.Query{Key: key, Batch: "x"}} {
		l.fails(0, c, syscall.ENOENT)
	}
	l.must(0, &engine.Run{Key: key, Batch: "batch"}, &engine.Stop{Key: key, Batch: "batch"})
	if got := l.host(1).took(wire.TypeBatch); got[len(got)-1].Body.(*wire.Batch).Argument != 0 {
		t.Errorf("%+v", got)
	}
	l.must(0, &engine.Stop{Key: key, Batch: "batch", Force: true})
	if got := l.host(1).took(wire.TypeBatch); got[len(got)-1].Body.(*wire.Batch).Argument != 1 {
		t.Errorf("%+v", got)
	}
	short := ping("g", "one")
	l.must(0, &engine.AddTest{Key: key, Test: short})
	l.fails(0, &engine.AddTest{Key: key, Test: short}, syscall.ENOSPC)
}

// TestEnds: when a query of a batch finds that none of its tests runs, the console no longer reports the
// batch as running. A query of one test does not change what it reports.
func TestEnds(t *testing.T) {
	spec.Covers(t, "ST-27")
	l := newLab(t, 3, engine.Config{})
	l.open(1, 2)
	l.must(0, &engine.AddTest{Key: key, Test: ping("g", "g")}, &engine.Run{Key: key, Batch: "batch"})
	l.run(20 * time.Millisecond)
	l.must(0, &engine.Query{Key: key, Batch: "batch", Test: 1})
	for _, want := range []bool{true, false} {
		list, err := l.host(0).console.Batches()
		if err != nil || len(list) != 1 || list[0].Running != want {
			t.Errorf("%+v, %v", list, err)
		}
		l.must(0, &engine.Query{Key: key, Batch: "batch"})
	}
	// A batch whose clients do not answer counts as running.
	l.must(0, &engine.Run{Key: key, Batch: "batch"})
	l.host(1).dead = true
	if got := l.do(0, &engine.Stop{Key: key, Batch: "batch"}).Answers; got[0].Failed != syscall.ETIMEDOUT || !got[1].OK() {
		t.Errorf("%+v", got)
	}
	l.do(0, &engine.Query{Key: key, Batch: "batch"})
	if list, err := l.host(0).console.Batches(); err != nil || !list[0].Running {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestStatuses: two statuses count as success: EPERM as the answer to a request to stop a batch, and
// ESRCH as the answer to a request to leave the session.
func TestStatuses(t *testing.T) {
	spec.Covers(t, "ST-27")
	l := newLab(t, 2, engine.Config{})
	l.open(1)
	l.must(0, &engine.AddTest{Key: key, Test: ping("g", "g")})
	l.host(1).fake = func(m *wire.Message) *wire.Message {
		switch b := m.Body.(type) {
		case *wire.Batch:
			return &wire.Message{Status: wire.EPERM, Body: &wire.BatchReply{Session: b.Session}}
		case *wire.RemoveSession:
			return &wire.Message{Status: wire.ESRCH, Body: &wire.RemoveSessionReply{Session: wire.NoSession()}}
		}
		return nil
	}
	if got := l.do(0, &engine.Run{Key: key, Batch: "batch"}).Answers; got[0].Status != syscall.EPERM {
		t.Errorf("%+v", got)
	}
	l.must(0, &engine.Stop{Key: key, Batch: "batch"}, &engine.EndSession{Key: key})
}

// TestBatchNumbers: each batch of all sessions has a number of its own (selftest §3).
func TestBatchNumbers(t *testing.T) {
	spec.Covers(t, "ST-25")
	l := newLab(t, 2, engine.Config{})
	var got []uint64
	for range 2 {
		l.open(1)
		l.must(0, &engine.AddBatch{Key: key, Name: "b"})
		for _, name := range []string{"b", "batch"} {
			test := ping("g", "g")
			test.Batch = name
			l.must(0, &engine.AddTest{Key: key, Test: test})
		}
		for _, m := range l.host(1).took(wire.TypeTest) {
			got = append(got, m.Body.(*wire.Test).Batch)
		}
		l.must(0, &engine.EndSession{Key: key})
	}
	if want := []uint64{2, 2, 1, 1, 4, 4, 3, 3}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestStat: Stat returns the counters of nodes in the session, and ESRCH for a node without it.
func TestStat(t *testing.T) {
	spec.Covers(t, "ST-27")
	l := newLab(t, 3, engine.Config{})
	l.open(1)
	l.must(0, &engine.AddTest{Key: key, Test: ping("g", "g")})
	for _, target := range []engine.Target{{Group: "g"}, {Session: true}, {Batch: "batch"}, {Batch: "batch", Server: true}, {Nodes: hostIDs(1, 1)}} {
		if got := l.must(0, &engine.Stat{Key: key, Target: target}); len(got) != 1 || got[0].Stat == nil || got[0].Stat.RPC.Received < 4 {
			t.Errorf("%+v: %+v", target, got)
		}
	}
	if got := l.do(0, &engine.Stat{Key: key, Target: engine.Target{Nodes: hostIDs(2)}}).Answers; got[0].Status != syscall.ESRCH || got[0].Stat != nil {
		t.Errorf("%+v", got)
	}
}
