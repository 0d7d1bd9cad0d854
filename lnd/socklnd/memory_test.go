package socklnd

import (
	"context"
	"runtime"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnet/nid"
)

// The memory of one end of an idle connection on amd64: its structs with those of package net,
// and the stack of its reader. The bound of the heap has a margin of a tenth.
const (
	idleHeap  = 2_600 // bytes
	idleStack = 3_000 // bytes: 2048 for most readers, 4096 for the few that have carried a message; a reader that waits a few frames deeper needs 4096
)

// TestIdleMemory: the memory of a connection that carries nothing does not grow unnoticed.
func TestIdleMemory(t *testing.T) {
	if effort.Race {
		t.Skip("the race detector has memory of its own; the normal run measures")
	}
	// The runtime starts a goroutine with a stack of the average size that the last garbage collection
	// found. Earlier tests may have made this average large; in a node with many peers, idle readers keep it small.
	parked := make(chan struct{})
	defer close(parked)
	for range 1000 {
		go func() { <-parked }()
	}
	before := measureMemory()
	a, b := newEcho(8), newEcho(8)
	const each = 60
	x, y := contract{cfg: Config{ConnsPerPeer: each}}.start(t, a, b)
	defer func() {
		_ = x.Shutdown(context.Background())
		_ = y.Shutdown(context.Background())
	}()
	put := newPut(nid.ProcessID{NID: x.NID(), PID: nid.LustrePID}, nid.ProcessID{NID: y.NID(), PID: nid.LustrePID}, pattern(8))
	x.Send(put)
	<-b.arrived
	<-a.left
	const all = 2*each + 1 // connections: BULK_IN and BULK_OUT, as many of either as each says, and one CONTROL
	for deadline := time.Now().Add(time.Minute); open(x.(*NI)) < all || open(y.(*NI)) < all; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d and %d of %d connections are open", open(x.(*NI)), open(y.(*NI)), all)
		}
	}
	after := measureMemory()
	const ends = 2 * all
	heap, stack := (int64(after.HeapAlloc)-int64(before.HeapAlloc))/ends, (int64(after.StackInuse)-int64(before.StackInuse))/ends
	t.Logf("%d bytes of heap and %d of stacks an end of a connection", heap, stack)
	if heap > idleHeap || stack > idleStack {
		t.Errorf("an end of an idle connection takes %d bytes of heap and %d of stacks, want at most %d and %d", heap, stack, idleHeap, idleStack)
	}
}

// open returns the number of an NI's connections.
func open(ni *NI) (n int) {
	for _, p := range ni.Snapshot().Peers {
		n += len(p.Conns)
	}
	return n
}

func measureMemory() (s runtime.MemStats) {
	runtime.GC() // twice, because the pools give memory back to the second collection
	runtime.GC()
	runtime.ReadMemStats(&s)
	return s
}
