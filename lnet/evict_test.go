package lnet_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// TestEvictedUnderway: peers are evicted to make room, while messages to them are being sent. No message is
// left in the queue of an evicted peer, where the end of discovery would not find it.
func TestEvictedUnderway(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{MaxPeers: 2})
	r.node.SetDiscoverer(func(id nid.NID) { r.node.Discovered(id, syscall.EHOSTUNREACH) })
	const senders, count = 4, 5000
	var group sync.WaitGroup
	for s := range senders {
		group.Go(func() {
			for n := range count {
				to := nid.MustParse(fmt.Sprintf("10.%d.%d.%d@tcp", 1+s, n/250, n%250))
				r.node.Send(put(to, uint64(s*count+n)))
			}
		})
	}
	group.Wait()
	if n := r.node.Stats().MsgsAlloc; n != 0 {
		t.Errorf("%d messages wait for ever", n)
	}
	for bits := range uint64(senders * count) {
		if err, _ := r.up.result(bits); !errors.Is(err, syscall.EHOSTUNREACH) && !errors.Is(err, syscall.ENOBUFS) {
			t.Fatalf("message %d ended with %v", bits, err)
		}
	}
	r.node.SetDiscoverer(nil)
}

// TestEvictedRecently: a peer that was looked up last, so that caches have it, is evicted. No message finds
// that peer any more, not even a message of its own connection.
func TestEvictedRecently(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{MaxPeers: 1})
	arrive := func(at time.Duration) {
		t.Helper()
		d := arriving(nil)
		d.ReceivedAt = at
		if _, err := r.ni.Parse(d); err != nil {
			t.Fatal(err)
		}
		r.ni.Delivered(d, nil)
	}
	arrive(1 * time.Second) // lnet adds the sender to the table of peers
	arrive(2 * time.Second) // lnet finds the sender in a cache
	r.send(peerB, 1)        // peerB needs a place in the table, so that the sender of the messages before, peerA, is evicted
	r.finalize(nil)
	arrive(3 * time.Second)
	if at, ok := r.node.LastHeard(nid.ProcessID{NID: peerA}); !ok || at != 3*time.Second {
		t.Errorf("last heard at %v, %v: noted with a peer that is in no table", at, ok)
	}
}

// TestCollidingPeers: if two NIDs have the same slot in the NI's cache of recent peers, lnet finds the
// right peer for each.
func TestCollidingPeers(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	want := []nid.NID{numbered(1), numbered(1 + 16), numbered(1), numbered(2), numbered(1 + 16)}
	for i, to := range want {
		r.send(to, uint64(i))
	}
	var got []nid.NID
	for _, m := range r.sent {
		got = append(got, m.Target.NID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("targets %v, want %v", got, want)
	}
	for range want {
		r.finalize(nil)
	}
}

// TestEvictedConnection (LN-17): messages of a connection whose peer was evicted belong to
// the new peer, which gets the results of discovery.
func TestEvictedConnection(t *testing.T) {
	spec.Covers(t, "LN-17")
	r := newRig(t, lnd.Tunables{}, lnet.Config{MaxPeers: 1})
	d := arriving(nil)
	arrive := func() {
		t.Helper()
		if _, err := r.ni.Parse(d); err != nil {
			t.Fatal(err)
		}
		r.ni.Delivered(d, nil)
	}
	arrive()
	r.send(peerB, 1)
	r.finalize(nil)
	r.node.SetPeer(upToDate(peer1, peerA))
	arrive()
	if d.Primary != peer1 {
		t.Errorf("primary NID %v, want %v", d.Primary, peer1)
	}
}
