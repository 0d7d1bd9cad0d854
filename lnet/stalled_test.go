package lnet_test

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// numbered is the i-th of many peers, from 0 on.
func numbered(i int) nid.NID { return nid.FromNumber(tcp, 0x0B000000+uint32(i)) }

// waitsFor makes the driver report that its messages for some NIDs wait for a connection.
func (r *rig) waitsFor(unconnected func(nid.NID) bool) {
	r.onSend = func(d *driver, m *lnd.Message) {
		if unconnected(m.Target.NID) {
			d.up.Waits(m)
			d.up.Waits(m) // a second Waits has no effect
		}
		d.mu.Lock()
		d.sent = append(d.sent, m)
		d.mu.Unlock()
	}
}

// finalizeOf ends the oldest message to a NID that the driver has.
func (r *rig) finalizeOf(id nid.NID, err error) bool {
	r.driver.mu.Lock()
	i := slices.IndexFunc(r.sent, func(m *lnd.Message) bool { return m.Target.NID == id })
	if i < 0 {
		r.driver.mu.Unlock()
		return false
	}
	m := r.sent[i]
	r.sent = slices.Delete(r.sent, i, i+1)
	r.driver.mu.Unlock()
	r.driver.up.Finalize(m, err)
	return true
}

func (r *rig) credits() (now, lowest int) {
	s := r.node.Snapshot().NIs[0]
	return s.Credits, s.MinCredits
}

// TestDiallingTakesNoCredits (LN-19): 20 messages to each of 32 peers wait for connections. They use up the
// 8 credits of each peer, but none of the 256 NI credits, so a message for another peer leaves at once.
func TestDiallingTakesNoCredits(t *testing.T) {
	spec.Covers(t, "LN-19")
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	r.waitsFor(func(id nid.NID) bool { return id != peerA })
	const dead = 32
	for i := range dead {
		for k := range 20 {
			r.send(numbered(i), uint64(1000+100*i+k))
		}
	}
	if now, _ := r.credits(); now != 256 {
		t.Errorf("%d NI credits left, want 256", now)
	}
	if p := r.peer(numbered(0)); p.Credits != -12 || p.Queued != 12 {
		t.Errorf("a peer that is dialled has %d credits and %d queued messages, want -12 and 12", p.Credits, p.Queued)
	}
	r.send(peerA, 1)
	if !slices.Contains(r.inFlight(), 1) {
		t.Error("the message to a connected peer does not leave")
	}
	for r.finalize(syscall.EHOSTUNREACH) {
	}
	if now, _ := r.credits(); now != 256 {
		t.Errorf("%d NI credits in the end, want 256", now)
	}
	if n := len(r.up.order); n != 20*dead+1 {
		t.Errorf("%d messages ended, want %d", n, 20*dead+1)
	}
}

// TestBacklogIsBounded: a message has to wait for a connection, and is refused. The reason is either that
// 65536 messages wait for its peer, or that as many messages wait for its peer as could still be added to the
// backlog.
func TestBacklogIsBounded(t *testing.T) {
	effort.OneGoroutine(t)
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	r.waitsFor(func(id nid.NID) bool { return id != peerA })
	refused, accepted := map[nid.NID]int{}, map[nid.NID]int{}
	r.up.onSent = func(m *lnet.Message, err error) {
		if errors.Is(err, syscall.ENOBUFS) {
			refused[m.Header.DestNID]++
		}
	}
	const each, peers = 70_000, 6
	for i := range peers {
		for range each {
			r.send(numbered(i), 1)
		}
		accepted[numbered(i)] = each - refused[numbered(i)]
	}
	if n := accepted[numbered(0)]; n != 8+1<<16 {
		t.Errorf("%d messages wait for the first peer, want 8 with the driver and 65536", n)
	}
	if n := accepted[numbered(peers-1)]; n < 1000 || n >= 1<<16 {
		t.Errorf("%d messages wait for the last peer: want a part of the room that is left", n)
	}
	total := 0
	for _, n := range refused {
		total += n
	}
	if s := r.node.Stats(); s.SendRefused != uint64(total) || total < 1 {
		t.Errorf("%d refusals counted, want %d", s.SendRefused, total)
	}
	r.send(peerA, 2)
	if !slices.Contains(r.inFlight(), 2) {
		t.Error("a message to a connected peer does not leave")
	}
	r.up.onSent = nil
	for r.finalize(syscall.EHOSTUNREACH) {
	}
	r.onSend = nil
	r.waitsFor(func(nid.NID) bool { return true })
	for range 9 {
		r.send(numbered(0), 3)
	}
	if p := r.peer(numbered(0)); p.Queued != 1 {
		t.Error("there is no room again after all have ended")
	}
	for r.finalize(nil) {
	}
}

// TestStalledPeersHoldHalf (LN-20): peers to which no message has left for 100 ms use half of
// the credits at most, however many such peers there are.
func TestStalledPeersHoldHalf(t *testing.T) {
	spec.Covers(t, "LN-20")
	for name, stuck := range map[string]int{"as many as take all credits": 32, "many more": 1000} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, lnd.Tunables{}, lnet.Config{})
				for i := range stuck {
					for range 8 {
						r.send(numbered(i), 1000)
					}
				}
				if n := len(r.inFlight()); n != 256 {
					t.Fatalf("%d messages in flight, want 256", n)
				}
				for range 8 {
					r.send(peerA, 1)
				}
				for range 300 {
					<-time.After(time.Millisecond)
					if r.finalizeOf(peerA, nil) {
						r.send(peerA, 1)
					}
				}
				if n := r.toPeer(peerA); n != 8 {
					t.Errorf("%d messages to the live peer are in flight, want 8", n)
				}
				for i := range 128 { // messages to new peers
					r.send(nid.FromNumber(tcp, 0x0C000000+uint32(i)), 2)
				}
				for range 1000 {
					if !r.finalizeOf(peerA, nil) {
						t.Fatal("the live peer has nothing in flight")
					}
					r.send(peerA, 1)
				}
				for r.finalize(nil) {
				}
				if now, _ := r.credits(); now != 256 {
					t.Errorf("%d credits in the end, want 256", now)
				}
			})
		})
	}
}

// toPeer is the number of messages to a NID that the driver has.
func (r *rig) toPeer(id nid.NID) (n int) {
	r.driver.mu.Lock()
	defer r.driver.mu.Unlock()
	for _, m := range r.sent {
		if m.Target.NID == id {
			n++
		}
	}
	return n
}

// TestStalledPeerMoves: a peer to which messages leave again is treated like any other.
func TestStalledPeerMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lnd.Tunables{Credits: 4, PeerCredits: 4}, lnet.Config{})
		r.send(peerA, 1, 2, 3, 4, 5, 6)
		r.send(peerB, 11, 12, 13)
		wantBits(t, "at first", r.inFlight(), 1, 2, 3, 4)
		<-time.After(101 * time.Millisecond)
		wantBits(t, "with two spare credits", r.inFlight(), 1, 2, 3, 4, 11, 12)
		r.finalizeOf(peerA, nil)
		wantBits(t, "after one has left: all is in use", r.inFlight(), 2, 3, 4, 11, 12)
		r.finalizeOf(peerB, nil)
		wantBits(t, "after a second one", r.inFlight(), 2, 3, 4, 12)
		for r.finalize(nil) {
		}
		for bits := range uint64(6) {
			r.wantResult(bits+1, nil)
		}
		if now, lowest := r.credits(); now != 4 || lowest > -3 {
			t.Errorf("%d credits, lowest %d", now, lowest)
		}
	})
}

// TestStalledPeerGetsNoMore: stalled peers get no spare credits, until a message of theirs
// leaves.
func TestStalledPeerGetsNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lnd.Tunables{Credits: 4, PeerCredits: 4}, lnet.Config{})
		r.send(peerA, 1, 2)
		r.send(peerB, 11, 12)
		r.send(peerA, 3)
		r.send(peerC, 21)
		<-time.After(101 * time.Millisecond)
		wantBits(t, "with two spare credits, one of them in use", r.inFlight(), 1, 2, 11, 12, 21)
		r.finalizeOf(peerA, nil)
		r.finalizeOf(peerA, nil)
		wantBits(t, "after two have left", r.inFlight(), 11, 12, 21, 3)
		for r.finalize(nil) {
		}
	})
}

// TestUrgentWaiters (LN-21): with all priority credits in use, the next one that is returned
// goes to the priority message that has waited longest, before any normal message.
func TestUrgentWaiters(t *testing.T) {
	spec.Covers(t, "LN-21")
	r := newRig(t, lnd.Tunables{Credits: 2, PeerCredits: 2}, lnet.Config{})
	r.send(peerA, 1, 2)
	r.send(peerB, 3)
	for i, bits := range []uint64{11, 12, 13, 14, 15} {
		m := put(numbered(i), bits)
		m.Priority = true
		r.node.Send(m)
	}
	wantBits(t, "at once", r.inFlight(), 1, 2, 11, 12)
	r.finalizeOf(numbered(0), nil)
	wantBits(t, "after an urgent one has left", r.inFlight(), 1, 2, 12, 13)
	r.finalizeOf(peerA, nil)
	wantBits(t, "after a normal one has left", r.inFlight(), 2, 12, 13, 14)
	for r.finalize(nil) {
	}
	wantBits(t, "order", r.up.order, 11, 1, 2, 12, 13, 14, 15, 3)
}

// TestUrgentOfWaitingPeer: a priority message does not wait behind normal messages of its
// peer that already wait for the NI.
func TestUrgentOfWaitingPeer(t *testing.T) {
	r := newRig(t, lnd.Tunables{Credits: 1, PeerCredits: 1}, lnet.Config{})
	r.send(peerA, 1)
	for i := range 3 {
		r.send(numbered(i), uint64(2+i))
	}
	for _, to := range []nid.NID{peerB, numbered(2)} {
		m := put(to, 11)
		m.Priority = true
		r.node.Send(m)
	}
	wantBits(t, "in flight", r.inFlight(), 1, 11)
	r.finalizeOf(peerB, nil)
	if n := r.toPeer(numbered(2)); n != 1 {
		t.Error("the second urgent message waits although one has left")
	}
	for r.finalize(nil) {
	}
}

// TestRemovedTwice: both of two concurrent calls of RemoveNI return when the NI
// is gone.
func TestRemovedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lnd.Tunables{}, lnet.Config{})
		r.send(peerA, 1)
		ended := make(chan error, 2)
		for range 2 {
			go func() { ended <- r.node.RemoveNI(t.Context(), r.ni) }()
		}
		synctest.Wait()
		if n := len(ended); n != 0 {
			t.Errorf("%d calls returned while a message is in flight", n)
		}
		if err := r.node.RemoveNI(over(), r.ni); !errors.Is(err, context.Canceled) {
			t.Errorf("without time: %v", err)
		}
		r.finalize(nil)
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestNIGoesWithItsMessages: when an NI is removed, its messages that wait for discovery, for
// a peer credit or for an NI credit fail. Messages of another NI do not.
func TestNIGoesWithItsMessages(t *testing.T) {
	r := newRig(t, lnd.Tunables{Credits: 2, PeerCredits: 1}, lnet.Config{})
	other := &driver{id: self1}
	if _, err := r.node.AddNI(other, lnd.Config{Net: self1.Net(), Tunables: lnd.Tunables{PeerCredits: 1}}); err != nil {
		t.Fatal(err)
	}
	r.send(peerA, 1, 2) // message 2 waits for a peer credit
	r.send(peerB, 3)
	r.send(peerC, 4) // message 4 waits for an NI credit
	r.send(peer1, 11, 12)
	r.asked()
	r.send(numbered(1), 5) // message 5 waits for discovery
	parked := nid.FromNumber(self1.Net(), 77)
	r.send(parked, 13)
	if err := r.node.RemoveNI(over(), r.ni); err == nil {
		t.Error("RemoveNI says that all messages have left")
	}
	for bits := range uint64(5) {
		r.wantResult(bits+1, syscall.ESHUTDOWN)
	}
	if n := len(r.up.order); n != 5 {
		t.Errorf("%d messages have ended, want the 5 of the NI that went", n)
	}
	r.node.SetDiscoverer(nil)
	for other.finalize(nil) {
	}
	for _, bits := range []uint64{11, 12, 13} {
		r.wantResult(bits, nil)
	}
}
