package lnet_test

import (
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// failStep is a change of the list of NIDs that fail, or a PUT.
type failStep struct {
	add   nid.NID // NID to add to the list with count; zero: none
	count int
	puts  nid.NID // NID to which a PUT is sent instead
	fails bool    // whether the PUT has to fail
}

// TestFailNID (LN-14) checks which PUTs fail, and which entries are left on the list afterwards.
func TestFailNID(t *testing.T) {
	spec.Covers(t, "LN-14")
	for name, c := range map[string]struct {
		steps []failStep
		left  []lnet.FailedNID
	}{
		"nothing": {steps: []failStep{{puts: peerA}}},
		"the next two": {steps: []failStep{
			{add: peerA, count: 2},
			{puts: peerA, fails: true},
			{puts: peerB},
			{puts: peerA, fails: true},
			{puts: peerA},
		}},
		"one is left": {
			steps: []failStep{{add: peerA, count: 2}, {puts: peerA, fails: true}},
			left:  []lnet.FailedNID{{NID: peerA, Count: 1}},
		},
		"for ever": {
			steps: []failStep{{add: peerA, count: -7}, {puts: peerA, fails: true}, {puts: peerA, fails: true}, {puts: peerB}},
			left:  []lnet.FailedNID{{NID: peerA, Count: lnet.FailForever}},
		},
		"all": {
			steps: []failStep{{add: nid.Any(), count: 3}, {puts: peerA, fails: true}, {puts: nid.Lo0(), fails: true}},
			left:  []lnet.FailedNID{{NID: nid.Any(), Count: 1}},
		},
		"the oldest first": {
			steps: []failStep{
				{add: peerA, count: 1},
				{add: nid.Any(), count: 2},
				{add: peerA, count: 5},
				{puts: peerA, fails: true},
				{puts: peerA, fails: true},
				{puts: peerB, fails: true},
				{puts: peerB},
				{puts: peerA, fails: true},
			},
			left: []lnet.FailedNID{{NID: peerA, Count: 4}},
		},
		"removed": {
			steps: []failStep{
				{add: peerA, count: 1},
				{add: peerB, count: 1},
				{add: nid.Any(), count: 1},
				{add: peerA, count: -1},
				{add: peerA},
				{add: peerC},
			},
			left: []lnet.FailedNID{{NID: peerB, Count: 1}, {NID: nid.Any(), Count: 1}},
		},
		"all removed": {steps: []failStep{{add: peerA, count: -1}, {add: nid.Any(), count: -1}, {add: nid.Any()}, {puts: peerA}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, lnd.Tunables{}, lnet.Config{})
			for i, s := range c.steps {
				if s.add.IsValid() {
					if err := r.node.FailNID(s.add, s.count); err != nil {
						t.Fatal(err)
					}
				} else if got := r.node.FailsPut(&s.puts); got != s.fails {
					t.Errorf("step %d: PUT to %v fails: %v, want %v", i, s.puts, got, s.fails)
				}
			}
			if diff := cmp.Diff(c.left, r.node.FailedNIDs(), cmpopts.EquateEmpty(), cmpopts.EquateComparable(nid.NID{})); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFailNIDErrors checks which calls FailNID refuses, and that a list that was full takes a NID
// again when an entry is used up.
func TestFailNIDErrors(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	if err := r.node.FailNID(nid.NID{}, 1); err != syscall.EINVAL {
		t.Errorf("no NID: %v", err)
	}
	for i := range 1024 {
		if err := r.node.FailNID(peerA, i+1); err != nil {
			t.Fatalf("entry %d: %v", i, err)
		}
	}
	if err := r.node.FailNID(peerB, 1); err != syscall.ENOSPC {
		t.Errorf("entry 1025: %v", err)
	}
	if !r.node.FailsPut(&peerA) { // this call uses up the first of two failures
		t.Error("does not fail")
	}
	if err := r.node.FailNID(peerB, 1); err != nil {
		t.Error(err)
	}
}

// TestSimulatedFailure (LN-14): messages from a NID on the list are dropped under a reason of
// their own, whatever their type and whichever peer delivers them; the peer keeps its
// connections.
func TestSimulatedFailure(t *testing.T) {
	spec.Covers(t, "LN-14")
	for name, c := range map[string]struct {
		fail   nid.NID
		change func(h *wire.Header)
		want   uint64 // expected number of drops
	}{
		"PUT":        {fail: peerA, want: 1},
		"ACK":        {peerA, func(h *wire.Header) { h.Type, h.PayloadLength = wire.Ack, 0 }, 1},
		"from all":   {fail: nid.Any(), want: 1},
		"by another": {fail: peerB},
		"to us":      {fail: self},
		// Messages that break the protocol are dropped for that reason, and do not count as simulated failures.
		"not for us":           {peerA, func(h *wire.Header) { h.DestNID = peer1 }, 0},
		"under another's name": {peerB, func(h *wire.Header) { h.SrcNID = peerB }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, lnd.Tunables{}, lnet.Config{})
			if err := r.node.FailNID(c.fail, 1); err != nil {
				t.Fatal(err)
			}
			d := arriving(c.change)
			if answer, err := r.ni.Parse(d); err != nil || answer != lnd.Accept {
				t.Fatal(answer, err)
			}
			r.ni.Delivered(d, nil)
			s := r.node.Stats()
			if got := s.DropReasons["simulated failure"]; got != c.want {
				t.Errorf("%d drops, want %d", got, c.want)
			}
			if c.want > 0 && (s.DropCount != 1 || d.Owner != nil || r.up.delivered != 0) {
				t.Errorf("dropped, but %d counted, %d delivered", s.DropCount, r.up.delivered)
			}
			if _, heard := r.node.LastHeard(d.From); heard != (c.want == 0 && s.DropCount == 0) {
				t.Errorf("heard: %v", heard) // a message that fails is no sign of liveness
			}
			if left := uint64(len(r.node.FailedNIDs())); left != 1-c.want {
				t.Errorf("%d entries left", left)
			}
		})
	}
}

// TestFailsExactly: a NID with a count fails exactly that often, however many goroutines send
// to it.
func TestFailsExactly(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	const count = 500
	for _, id := range []nid.NID{peerA, nid.Any()} {
		if err := r.node.FailNID(id, count); err != nil {
			t.Fatal(err)
		}
	}
	var failed atomic.Int64
	var tasks sync.WaitGroup
	for range 4 {
		tasks.Go(func() {
			for range count {
				if r.node.FailsPut(&peerA) {
					failed.Add(1)
				}
			}
		})
	}
	tasks.Wait()
	if n := failed.Load(); n != 2*count || len(r.node.FailedNIDs()) != 0 {
		t.Errorf("%d failed, want %d; left %v", n, 2*count, r.node.FailedNIDs())
	}
}

// TestFailListAllocates: looking up the list allocates nothing, empty or not.
func TestFailListAllocates(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	for _, failed := range []nid.NID{{}, peerB, peerA} {
		if failed.IsValid() {
			if err := r.node.FailNID(failed, -1); err != nil {
				t.Fatal(err)
			}
		}
		if n := testing.AllocsPerRun(100, func() { r.node.FailsPut(&peerA) }); n != 0 {
			t.Errorf("%v on the list: %v allocations", failed, n)
		}
	}
}
