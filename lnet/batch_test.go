package lnet_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/lnet/router"
	"ulnet/lnet/wire"
)

// inBatch makes n messages of one batch arrive, one after the other, with the Delivery d. After the third
// it calls act, if that is not nil.
func inBatch(t *testing.T, r *rig, d *lnd.Delivery, n int, act func()) {
	t.Helper()
	for i := range n {
		d.Repeats, d.More, d.Data = i > 0, true, make([]byte, 10)
		if _, err := r.ni.Parse(d); err != nil {
			t.Fatal(err)
		}
		if !d.Dropped {
			r.ni.Delivered(d, nil)
		}
		if i == 2 && act != nil {
			act()
		}
	}
}

// TestBatchEvicted: the sender is evicted from the table of peers in the middle of a batch. Messages
// after that belong to the new peer.
func TestBatchEvicted(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{MaxPeers: 1})
	d := arriving(nil)
	inBatch(t, r, d, 4, func() {
		r.send(peerB, 1)
		r.finalize(nil)
		r.node.SetPeer(upToDate(peer1, peerA))
	})
	r.ni.EndBatch(d)
	if d.Primary != peer1 || d.Batch != nil {
		t.Errorf("primary NID %v, want %v", d.Primary, peer1)
	}
}

// TestBatchFails: FailNID is called with a count in the middle of a batch. Exactly as many of the messages
// that follow are dropped.
func TestBatchFails(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	d := arriving(nil)
	inBatch(t, r, d, 10, func() {
		if err := r.node.FailNID(peerA, 2); err != nil {
			t.Error(err)
		}
	})
	r.ni.EndBatch(d)
	if s := r.node.Stats(); s.DropReasons["simulated failure"] != 2 || s.RecvCount != 8 {
		t.Errorf("%d received, drops %v", s.RecvCount, s.DropReasons)
	}
}

// TestBatchAgain: messages that are equal to the latest one go to the upper layer all at once. lnet refuses
// them if they might not pass the checks that the latest one has passed.
func TestBatchAgain(t *testing.T) {
	for name, c := range map[string]struct {
		act   func(t *testing.T, r *rig)
		takes bool
	}{
		"as before": {func(*testing.T, *rig) {}, true},
		"the sender is evicted": {func(_ *testing.T, r *rig) {
			r.send(peerB, 1)
			r.finalize(nil)
		}, false},
		"a failure is simulated": {func(t *testing.T, r *rig) {
			if err := r.node.FailNID(peerA, 1); err != nil {
				t.Error(err)
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, lnd.Tunables{}, lnet.Config{MaxPeers: 1})
			d := arriving(nil)
			inBatch(t, r, d, 3, nil)
			c.act(t, r)
			want := 0
			if c.takes {
				want = 4
			}
			if takes := r.ni.Again(d, 4); takes != c.takes || r.up.again != want {
				t.Errorf("takes them: %t; the upper layer got %d", takes, r.up.again)
			}
			r.ni.EndBatch(d)
		})
	}
}

// TestBatchHeard: the sender of a batch was last heard at the time at which the driver read
// the batch.
func TestBatchHeard(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	for at := time.Second; at <= 2*time.Second; at += time.Second {
		d := arriving(nil)
		d.ReceivedAt = at
		inBatch(t, r, d, 3, nil)
		r.ni.EndBatch(d)
		if got, ok := r.node.LastHeard(d.From); !ok || got != at {
			t.Errorf("last heard at %v, %v, want %v", got, ok, at)
		}
	}
}

// TestBatchOfLeaving: RemoveNI waits for the end of a batch that began before the call, because messages of
// the batch may cause answers. It does not wait for a batch that begins after the call.
func TestBatchOfLeaving(t *testing.T) {
	r := newRig(t, lnd.Tunables{}, lnet.Config{})
	d, late := arriving(nil), arriving(nil)
	inBatch(t, r, d, 3, nil)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() { left <- r.node.RemoveNI(ctx, r.ni) }()
	for !r.ni.Stopping() {
		runtime.Gosched()
	}
	inBatch(t, r, late, 3, nil)
	select {
	case err := <-left:
		t.Fatalf("the NI has left in the middle of a batch: %v", err)
	default:
	}
	r.ni.EndBatch(d)
	if err := <-left; err != nil {
		t.Error(err)
	}
	r.ni.EndBatch(late)
	cancel()
}

// TestBatchForwarded: a message for another node comes in the middle of a batch; the next one repeats
// its header and is forwarded, too.
func TestBatchForwarded(t *testing.T) {
	c := newCrossing(t, lnd.Tunables{}, router.Config{})
	d := arriving(nil)
	for i, header := range []wire.Header{d.Header, passing(0, 5).Header, passing(0, 6).Header, d.Header} {
		d.Header = header
		d.Repeats, d.More = i == 2, true
		if taken, answer := c.pass(d); !taken || answer != lnd.Accept {
			t.Errorf("message %d: taken %v, answer %v", i, taken, answer)
		}
	}
	c.ni.EndBatch(d)
	for c.far.finalize(nil) {
	}
	if s := c.node.Stats(); s.RouteCount != 2 || s.RecvCount != 2 {
		t.Errorf("%d forwarded, %d received", s.RouteCount, s.RecvCount)
	}
}
