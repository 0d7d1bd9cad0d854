package engine_test

import (
	"runtime"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/console/engine"
	"ulnet/lnet/selftest/wire"
)

// heap returns the bytes of live objects.
func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // again, because the first collection leaves the objects of a sync.Pool
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestThousandNodes: 1000 nodes join, get a test, run it and are measured within 5 s, and all of
// them together, with the console, take less than 100 MiB.
func TestThousandNodes(t *testing.T) {
	spec.Covers(t, "G-ST-3", "ST-30")
	const nodes = 1000
	before := heap()
	l := newLab(t, 1+nodes, engine.Config{})
	l.latency = 5 * time.Millisecond
	clients, servers := make([]nid.ProcessID, nodes/2), make([]nid.ProcessID, nodes/2)
	for i := range clients {
		clients[i], servers[i] = hostID(1+i), hostID(1+nodes/2+i)
	}
	test := ping("clients", "servers")
	test.Loop = 1
	l.must(0, &engine.NewSession{Key: key, Name: "large", Features: 1}, &engine.AddGroup{Key: key, Name: "clients", IDs: clients}, &engine.AddGroup{Key: key, Name: "servers", IDs: servers})
	l.must(0, &engine.AddTest{Key: key, Test: test}, &engine.Run{Key: key, Batch: "batch"})
	for _, a := range l.must(0, &engine.Stat{Key: key, Target: engine.Target{Session: true}}) {
		if a.Stat.RPC.Received == 0 {
			t.Errorf("%+v", a.Stat)
		}
	}
	if l.now > 5*time.Second {
		t.Errorf("it took %v", l.now)
	}
	if took := heap() - before; took > 100<<20 {
		t.Errorf("it took %d MiB", took>>20)
	} else {
		t.Logf("%v, %d KiB for each node with its console", l.now, took>>10/nodes)
	}
	l.must(0, &engine.EndSession{Key: key})
	for i := 1; i <= nodes; i++ {
		if got := l.host(i).node.Stats().Session; got != wire.NoSession() {
			t.Fatalf("node %d has the session %v", i, got)
		}
	}
}

// TestParallel: no more RPCs are under way than Config.MaxCalls allows. Nodes that do not answer delay
// the RPCs of another command for no longer than the time-out of one RPC.
func TestParallel(t *testing.T) {
	spec.Covers(t, "ST-30")
	l := newLab(t, 65, engine.Config{MaxCalls: 8})
	var dead []int
	for i := 5; i <= 64; i++ {
		dead = append(dead, i)
	}
	l.open(1, 2, 3, 4)
	for _, i := range dead {
		l.host(i).dead = true
	}
	slow, _ := l.begin(0, &engine.Ping{Key: key, Target: engine.Target{Nodes: hostIDs(dead...)}})
	quick := l.do(0, &engine.Ping{Key: key, Target: engine.Target{Group: "g"}})
	if took := quick.at; took > 4*time.Second || slow.over {
		t.Errorf("live nodes have answered after %v, %t", took, slow.over)
	}
	if l.run(30 * time.Second); !slow.over || l.most != 8 {
		t.Errorf("%d RPCs at one time, %t", l.most, slow.over)
	}
}
