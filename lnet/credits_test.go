package lnet_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

func wantBits(t *testing.T, what string, got []uint64, want ...uint64) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestPeerCredits (LN-6): messages that find no peer credit wait, in order, and make the
// number of credits negative.
func TestPeerCredits(t *testing.T) {
	spec.Covers(t, "LN-6")
	r := newRig(t, lnd.Tunables{PeerCredits: 2}, lnet.Config{})
	r.send(peerA, 1, 2, 3, 4, 5)
	wantBits(t, "in flight", r.inFlight(), 1, 2)
	if p := r.peer(peerA); p.Credits != -3 || p.MinCredits != -3 || p.Queued != 3 || p.QueuedBytes != 2*72 || p.MaxCredits != 2 {
		t.Errorf("peer %+v", p)
	}
	r.send(peerB, 6)
	wantBits(t, "another peer has its own", r.inFlight(), 1, 2, 6)
	r.finalize(nil)
	wantBits(t, "after one has left", r.inFlight(), 2, 6, 3)
	for r.finalize(nil) {
	}
	wantBits(t, "ended", r.up.order, 1, 2, 6, 3, 4, 5)
	if p := r.peer(peerA); p.Credits != 2 || p.MinCredits != -3 || p.QueuedBytes != 0 || p.Traffic.Sent.Put != 5 {
		t.Errorf("peer in the end %+v", p)
	}
}

// TestRDMAReply (LN-23): the REPLY to a GET by RDMA goes to the driver although all credits of the peer and
// of the NI are taken and messages wait for them. The REPLY takes and returns no credit, and is not sent
// again.
func TestRDMAReply(t *testing.T) {
	spec.Covers(t, "LN-23")
	r := newRig(t, lnd.Tunables{PeerCredits: 2, Credits: 2}, lnet.Config{})
	r.send(peerA, 1, 2, 3)
	before, ni := r.peer(peerA), r.node.Snapshot().NIs[0]
	reply := func(bits uint64) {
		m := put(peerA, bits) // a PUT with match bits, by which the rig tells messages apart
		m.Answers, m.Asker, m.RDMAReply = r.ni, nid.ProcessID{NID: peerA, PID: nid.LustrePID}, true
		r.node.Send(m)
	}
	reply(4)
	reply(5)
	wantBits(t, "in flight", r.inFlight(), 1, 2, 4, 5)
	if t.Failed() {
		return
	}
	with := r.peer(peerA)
	if with.Credits != before.Credits || with.MinCredits != before.MinCredits || with.Queued != 1 || with.QueuedBytes != before.QueuedBytes+2*72 {
		t.Errorf("peer %+v, before %+v", with, before)
	}
	r.driver.mu.Lock()
	gets, replies := r.driver.sent[:2:2], r.driver.sent[2:]
	r.driver.sent = append(replies[:2:2], gets...)
	r.driver.mu.Unlock()
	r.finalize(nil)
	r.finalize(lnd.Failed(lnd.RemoteDropped, syscall.ECONNRESET))
	wantBits(t, "after the REPLYs", r.inFlight(), 1, 2)
	r.wantResult(5, syscall.ECONNRESET)
	after := r.peer(peerA)
	if after.Credits != before.Credits || after.Queued != 1 || after.QueuedBytes != before.QueuedBytes || r.node.Snapshot().NIs[0].Credits != ni.Credits {
		t.Errorf("peer %+v, before %+v", after, before)
	}
	r.finalize(nil)
	wantBits(t, "after a credit has come back", r.inFlight(), 2, 3)
}

func TestPriorityPasses(t *testing.T) {
	r := newRig(t, lnd.Tunables{PeerCredits: 1}, lnet.Config{})
	r.send(peerA, 1, 2, 3)
	for _, bits := range []uint64{4, 5} {
		m := put(peerA, bits)
		m.Priority = true
		r.node.Send(m)
	}
	wantBits(t, "in flight", r.inFlight(), 1, 4)
	for r.finalize(nil) {
	}
	wantBits(t, "order", r.up.order, 1, 4, 5, 2, 3)
}

// TestPriorityCredits (LN-18): priority messages have credits of their own, at the peer and at the
// NI, as many as there are for normal messages. Normal messages cannot use them.
func TestPriorityCredits(t *testing.T) {
	spec.Covers(t, "LN-18")
	for name, c := range map[string]struct {
		tunables lnd.Tunables
		// Match bits of messages: 1 to 9 are normal messages to peerA, those from 11 on are priority messages
		// to the peer in the field to.
		flying, waits  []uint64
		to             nid.NID
		credits, least int // Credits and MinCredits of the peer that to names, after all messages were sent
	}{
		"peer": {lnd.Tunables{PeerCredits: 2}, []uint64{1, 2, 11, 12}, []uint64{13, 3}, peerA, -4, -4},
		"NI":   {lnd.Tunables{PeerCredits: 2, Credits: 2}, []uint64{1, 2, 11, 12}, []uint64{13, 3}, peerB, -1, -1},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, c.tunables, lnet.Config{})
			r.send(peerA, 1, 2, 3)
			for _, bits := range []uint64{11, 12, 13} {
				m := put(c.to, bits)
				m.Priority = true
				r.node.Send(m)
			}
			wantBits(t, "in flight", r.inFlight(), c.flying...)
			if p := r.peer(c.to); p.Credits != c.credits || p.MinCredits != c.least {
				t.Errorf("%d credits, lowest %d; want %d, %d", p.Credits, p.MinCredits, c.credits, c.least)
			}
			for r.finalize(nil) {
			}
			wantBits(t, "order", r.up.order, append(c.flying, c.waits...)...)
			if ni := r.node.Snapshot().NIs[0]; ni.Credits != ni.Tunables.Credits {
				t.Errorf("NI in the end: %d credits", ni.Credits)
			}
		})
	}
}

// TestNICredits (LN-6): peers that wait for a credit of the NI get it in turn.
func TestNICredits(t *testing.T) {
	spec.Covers(t, "LN-6")
	r := newRig(t, lnd.Tunables{Credits: 2, PeerCredits: 2}, lnet.Config{})
	r.send(peerA, 10, 11, 12)
	r.send(peerB, 20, 21)
	r.send(peerC, 30, 31)
	wantBits(t, "in flight", r.inFlight(), 10, 11)
	ni := r.node.Snapshot().NIs[0]
	if ni.Credits != -4 || ni.MinCredits != -4 {
		t.Errorf("NI has %d credits, lowest %d; want -4: two messages each of two peers wait", ni.Credits, ni.MinCredits)
	}
	for r.finalize(nil) {
	}
	wantBits(t, "order", r.up.order, 10, 11, 20, 30, 21, 12, 31)
	if ni := r.node.Snapshot().NIs[0]; ni.Credits != 2 || ni.MinCredits != -4 {
		t.Errorf("NI in the end: %d credits, lowest %d", ni.Credits, ni.MinCredits)
	}
}

// TestCapped (LN-7): a peer never has more credits than its NI.
func TestCapped(t *testing.T) {
	spec.Covers(t, "LN-7")
	r := newRig(t, lnd.Tunables{Credits: 3, PeerCredits: 100}, lnet.Config{})
	r.send(peerA, 1, 2, 3, 4)
	if p := r.peer(peerA); p.MaxCredits != 3 || p.Credits != -1 {
		t.Errorf("peer %+v", p)
	}
	for r.finalize(nil) {
	}
}

// TestUnfit (LN-8): a message that has waited too long for a peer credit or an NI credit, or was
// aborted while it waited, fails when it would get the credit.
func TestUnfit(t *testing.T) {
	spec.Covers(t, "LN-8")
	for name, c := range map[string]struct {
		tunables lnd.Tunables
		to       nid.NID // peer of the message that waits
	}{
		"for a peer credit": {lnd.Tunables{PeerCredits: 1}, peerA},
		"for an NI credit":  {lnd.Tunables{Credits: 1}, peerB},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, c.tunables, lnet.Config{TransactionTimeout: time.Minute})
				aborted := new(atomic.Bool)
				r.send(peerA, 1)
				r.send(c.to, 2)
				m := put(c.to, 3)
				m.Aborted = aborted
				<-time.After(time.Minute) // the message is not late yet
				r.node.Send(m)
				r.finalize(nil)
				wantBits(t, "in flight", r.inFlight(), 2)
				r.send(c.to, 4)
				aborted.Store(true)
				<-time.After(time.Minute + 1)
				r.send(c.to, 5)
				r.finalize(nil)
				wantBits(t, "in flight in the end", r.inFlight(), 5)
				r.finalize(nil)
				for bits, want := range map[uint64]error{1: nil, 2: nil, 3: syscall.ECANCELED, 4: syscall.ETIMEDOUT, 5: nil} {
					r.wantResult(bits, want)
				}
				if s := r.node.Stats(); s.SendCount != 3 || s.Errors != 2 || s.MsgsMax != 4 {
					t.Errorf("counters %+v", s)
				}
			})
		})
	}
}

// TestShutdownWithQueue (LN-9): every message that waits or is in flight ends.
func TestShutdownWithQueue(t *testing.T) {
	spec.Covers(t, "LN-9")
	r := newRig(t, lnd.Tunables{Credits: 2, PeerCredits: 1}, lnet.Config{})
	r.send(peerA, 1, 2, 3)
	r.send(peerB, 4, 5)
	r.send(peerC, 6)
	err := r.node.Shutdown(over())
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "6 messages were not sent") {
		t.Errorf("Shutdown says %v", err)
	}
	for bits := range uint64(6) {
		r.wantResult(bits+1, syscall.ESHUTDOWN)
	}
	r.send(peerA, 7)
	r.wantResult(7, syscall.EHOSTUNREACH)
}

// TestShutdownDrains: messages that wait for credits are still sent if Shutdown has time.
func TestShutdownDrains(t *testing.T) {
	r := newRig(t, lnd.Tunables{Credits: 2, PeerCredits: 1}, lnet.Config{})
	r.send(peerA, 1, 2, 3)
	r.send(peerB, 4, 5)
	done := make(chan error)
	go func() { done <- r.node.Shutdown(t.Context()) }()
	for bits := range uint64(5) {
		for ended := false; !ended; _, ended = r.up.result(bits + 1) {
			if !r.finalize(nil) {
				runtime.Gosched()
			}
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	for bits := range uint64(5) {
		r.wantResult(bits+1, nil)
	}
}

// TestFailuresDoNotNest: a thousand peers wait for one credit, and each of their messages fails as soon as it
// gets the credit. That must not make a chain of nested calls. The clock runs no timers: on a busy machine,
// the peer with the credit would otherwise count as stalled before all messages are queued.
func TestFailuresDoNotNest(t *testing.T) {
	r := newRig(t, lnd.Tunables{Credits: 1}, lnet.Config{Clock: timerless{machine.RealClock()}})
	gone := new(atomic.Bool)
	deepest := 0
	r.up.onSent = func(*lnet.Message, error) {
		deepest = max(deepest, runtime.Callers(0, make([]uintptr, 1000)))
	}
	r.send(peerA, 1)
	const peers = 1000
	for i := range uint32(peers) {
		m := put(nid.FromNumber(tcp, 0x0B000000+i), uint64(2+i))
		m.Aborted = gone
		r.node.Send(m)
	}
	gone.Store(true)
	r.finalize(nil)
	if n := len(r.up.order); n != peers+1 {
		t.Fatalf("%d messages ended, want %d", n, peers+1)
	}
	if deepest > 100 {
		t.Errorf("%d frames deep", deepest)
	}
}

// TestSendFromSent: a layer above that sends from inside Sent keeps the order, and the calls
// do not nest, also when the driver finalizes inside Send.
func TestSendFromSent(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	r.onSend = func(d *driver, m *lnd.Message) { d.up.Finalize(m, nil) }
	next, deepest := uint64(1), 0
	r.up.onSent = func(*lnet.Message, error) {
		deepest = max(deepest, runtime.Callers(0, make([]uintptr, 1000)))
		if next < 1000 {
			next++
			r.send(peerA, next)
		}
	}
	r.send(peerA, 1)
	for i, bits := range r.up.order {
		if bits != uint64(i+1) {
			t.Fatalf("message %d ended as number %d", bits, i+1)
		}
	}
	if len(r.up.order) != 1000 || deepest > 100 {
		t.Errorf("%d messages, %d frames deep", len(r.up.order), deepest)
	}
}

// TestCreditsUnderLoad: many goroutines send, and the driver finalizes from goroutines of its own.
// Every message ends once, and all credits come back.
func TestCreditsUnderLoad(t *testing.T) {
	// Without timers no peer counts as stalled, however slow the machine is. A stalled peer would
	// let other peers have more messages in flight.
	r := newRig(t, lnd.Tunables{Credits: 4, PeerCredits: 3}, lnet.Config{Clock: timerless{machine.RealClock()}})
	work := make(chan *lnd.Message, 100)
	var inFlight, most atomic.Int64
	r.onSend = func(_ *driver, m *lnd.Message) {
		if n := inFlight.Add(1); n > most.Load() {
			most.Store(n)
		}
		work <- m
	}
	var finishers, senders sync.WaitGroup
	for range 3 {
		finishers.Go(func() {
			for m := range work {
				inFlight.Add(-1)
				var err error
				if m.Header.Put().MatchBits%7 == 0 {
					err = errors.New("test: lost")
				}
				r.driver.up.Finalize(m, err)
			}
		})
	}
	const each = 500
	peers := []nid.NID{peerA, peerB, peerC}
	for s := range 6 {
		senders.Go(func() {
			for i := range each {
				r.send(peers[(s+i)%len(peers)], uint64(s*each+i))
			}
		})
	}
	senders.Wait()
	for r.node.Stats().MsgsAlloc > 0 {
		runtime.Gosched()
	}
	close(work)
	finishers.Wait()
	if len(r.up.order) != 6*each || len(r.up.ended) != 6*each {
		t.Errorf("%d ends of %d messages, want %d", len(r.up.order), len(r.up.ended), 6*each)
	}
	if most.Load() > 4 {
		t.Errorf("%d in flight, with 4 credits", most.Load())
	}
	s := r.node.Snapshot()
	if s.NIs[0].Credits != 4 {
		t.Errorf("NI has %d credits in the end", s.NIs[0].Credits)
	}
	for _, p := range s.Peers {
		if p.Credits != 3 || p.QueuedBytes != 0 {
			t.Errorf("peer in the end %+v", p)
		}
	}
	r.onSend = nil
}

// TestSendAllocates checks that a message with credits allocates nothing.
func TestSendAllocates(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	r.onSend = func(d *driver, m *lnd.Message) { d.up.Finalize(m, nil) }
	r.up.order = make([]uint64, 0, 1000)
	m := put(peerA, 1)
	if n := testing.AllocsPerRun(500, func() { r.node.Send(m) }); n != 0 {
		t.Errorf("%v allocations per message", n)
	}
	if len(r.up.order) != 501 {
		t.Errorf("%d messages ended", len(r.up.order))
	}
}

// TestRemoveNIUnderLoad: NIs come and go while others send; every message
// ends, and a new NI of the net reaches the same peers.
func TestRemoveNIUnderLoad(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	if err := r.node.RemoveNI(t.Context(), r.ni); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var senders sync.WaitGroup
	var total atomic.Uint64
	for range 2 {
		senders.Go(func() {
			for ctx.Err() == nil {
				if r.node.Stats().MsgsAlloc > 20 {
					runtime.Gosched()
					continue
				}
				r.send(peerA, total.Add(1))
			}
		})
	}
	const incarnations = 20
	for range incarnations {
		d := &driver{id: self}
		ni, err := r.node.AddNI(d, lnd.Config{Net: tcp})
		if err != nil {
			t.Fatal(err)
		}
		for sent := r.node.Stats().SendCount; r.node.Stats().SendCount == sent; {
			if !d.finalize(nil) {
				runtime.Gosched()
			}
		}
		if err := r.node.RemoveNI(over(), ni); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	cancel()
	senders.Wait()
	s := r.node.Stats()
	if s.SendCount+s.Errors != total.Load() || s.SendCount < incarnations {
		t.Errorf("%d sent, %d failed, of %d", s.SendCount, s.Errors, total.Load())
	}
}
