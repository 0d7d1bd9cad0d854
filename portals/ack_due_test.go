package portals_test

import (
	"context"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// acker is a node with an MD at which PUTs arrive in batches. The node sends an ACK for each of them.
type acker struct {
	*harness
	net  *network
	seen int // number of events
}

func newAcker(t *testing.T) *acker {
	t.Helper()
	table, net := newWire(t)
	a := &acker{harness: &harness{Table: table, t: t, self: here}, net: net}
	a.harness.post(5, portals.Match{}, portals.MD{
		Segments: []lnd.Segment{make([]byte, 1)}, Threshold: inf, Options: portals.OpPut | portals.OpGet | portals.ManageRemote,
		Handler: a.event,
	})
	return a
}

// event is the handler of the MD. It fails the test if the node has posted an ACK for a PUT whose event has
// not come before.
func (a *acker) event(e *portals.Event) {
	e.MLength, e.Source = 99, stranger // a handler may change its event; the ACK must not get these values
	acks := 0
	for _, m := range a.net.waiting() {
		acks += m.Owner.(*lnd.Inline).Messages()
	}
	if acks > a.seen {
		a.t.Errorf("%d ACKs before event %d", acks, a.seen)
	}
	a.seen++
}

// credits returns the free credits of the NI and of the peer, and fails the test if bytes for the peer wait.
func (a *acker) credits() (ni, peer int) {
	s := a.Node().Snapshot()
	if s.Peers[0].QueuedBytes != 0 {
		a.t.Errorf("%d bytes wait", s.Peers[0].QueuedBytes)
	}
	return s.NIs[0].Credits, s.Peers[0].Credits
}

// wanting returns a function that makes a PUT ask for an ACK. The ACK is to name md, an MD of the PUT's
// sender.
func wanting(md uint64) func(c *wire.PutCmd) {
	return func(c *wire.PutCmd) { c.AckMD = wire.MDHandle{Interface: 1, Object: md} }
}

// ackPost is ACKs that were posted as one inline message.
type ackPost struct {
	MD uint64
	N  int
}

// posted returns the ACKs that this node has posted to the network and that the network has not finalized.
func (a *acker) posted() (got []ackPost) {
	for _, m := range a.net.waiting() {
		ack := m.Header.Ack()
		if m.Target != there || ack.MLength != 1 || ack.DstMD.Interface != 1 {
			a.t.Errorf("to %v: %+v", m.Target, ack)
		}
		got = append(got, ackPost{ack.DstMD.Object, m.Owner.(*lnd.Inline).Messages()})
	}
	return got
}

func (a *acker) want(when string, want ...ackPost) {
	a.t.Helper()
	if diff := cmp.Diff(want, a.posted()); diff != "" {
		a.t.Errorf("%s (-want +got):\n%s", when, diff)
	}
}

// TestBatchAcks: PUTs of a batch are acknowledged in their order, each after its event.
func TestBatchAcks(t *testing.T) {
	spec.Covers(t, "PT-40")
	a := newAcker(t)
	b := newBatch(t, a.net)
	for n := range uint64(3) {
		b.put(lnd.Taken, wanting(n))
	}
	a.want("in the batch", ackPost{0, 1}, ackPost{1, 1})
	b.end()
	a.want("after the batch", ackPost{0, 1}, ackPost{1, 1}, ackPost{2, 1})
}

// TestEqualAcks: equal ACKs of a batch are posted together, at most eight. The ACKs collected so far are
// posted when a message comes that is no PUT to the same MD, and when the batch ends.
func TestEqualAcks(t *testing.T) {
	spec.Covers(t, "PT-40")
	a := newAcker(t)
	b := newBatch(t, a.net)
	for range 7 {
		b.put(lnd.Taken, wanting(1))
	}
	a.want("after 7 PUTs")
	b.put(lnd.Taken, wanting(1))
	a.want("after 8 PUTs", ackPost{1, 8})
	b.put(lnd.Taken, wanting(1))
	b.put(lnd.Taken, wanting(1))
	b.put(lnd.Accept, func(c *wire.PutCmd) { c.Portal = 6 }) // no MD takes this PUT
	a.want("after another message", ackPost{1, 8}, ackPost{1, 2})
	b.put(lnd.Taken, wanting(1))
	b.end()
	a.want("after the batch", ackPost{1, 8}, ackPost{1, 2}, ackPost{1, 1})
}

// TestLastAck: the ACKs are posted with the last message of a batch, before EndBatch is called.
func TestLastAck(t *testing.T) {
	a := newAcker(t)
	b := newBatch(t, a.net)
	b.put(lnd.Taken, wanting(1))
	b.last = true
	b.put(lnd.Taken, wanting(1))
	a.want("after the last message", ackPost{1, 2})
	b.end()
}

// TestEqualAcksEnd: eight ACKs are posted together, and all leave, all fail, or only some leave because
// the connection fails meanwhile. Each ACK that has left is counted, and all credits are free again.
func TestEqualAcksEnd(t *testing.T) {
	spec.Covers(t, "PT-40")
	for name, tt := range map[string]struct {
		fail func(a *acker, m *lnd.Message)
		sent uint64
	}{
		"all leave": {func(a *acker, m *lnd.Message) { a.net.finalize(m, nil) }, 8},
		"all fail":  {func(a *acker, m *lnd.Message) { a.net.finalize(m, syscall.EIO) }, 0},
		"three fail": {func(a *acker, m *lnd.Message) {
			a.net.lose(m, 3, syscall.EIO)
		}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAcker(t)
			a.net.up.PeerUp(there)
			free := a.Node().Snapshot().NIs[0].Credits
			b := newBatch(t, a.net)
			for range 8 {
				b.put(lnd.Taken, wanting(1))
			}
			if n := a.Node().Stats().MsgsAlloc; n != 8 {
				t.Errorf("%d ACKs count as under way", n)
			}
			tt.fail(a, a.net.next())
			b.end()
			s := a.Node().Stats()
			if s.MsgsAlloc != 0 || s.SendCount != tt.sent {
				t.Errorf("%d of 8 ACKs are under way, %d have left, want %d", s.MsgsAlloc, s.SendCount, tt.sent)
			}
			if ni, peer := a.credits(); ni != free || peer != a.Node().Snapshot().Peers[0].MaxCredits {
				t.Errorf("%d credits of the NI are free, before %d; %d of the peer", ni, free, peer)
			}
		})
	}
}

// TestAcksOfRemovedNI: an NI that is being removed receives another batch. RemoveNI waits for the ACKs of
// that batch, too.
func TestAcksOfRemovedNI(t *testing.T) {
	spec.Covers(t, "PT-40")
	synctest.Test(t, func(t *testing.T) {
		k := newAcker(t)
		table, net := k.Table, k.net
		first := newBatch(t, net)
		first.put(lnd.Taken, wanting(9))
		first.end()
		hold := net.next() // an ACK that is under way: RemoveNI waits for it
		removed := make(chan error, 1)
		go func() { removed <- table.Node().RemoveNI(context.Background(), table.Node().NIs()[0]) }()
		synctest.Wait()
		b := newBatch(t, net) // a batch that begins while the NI is being removed
		b.put(lnd.Taken, wanting(9))
		net.finalize(hold, nil)
		synctest.Wait()
		if len(removed) > 0 {
			t.Error("the NI is gone before the answer is on its way")
		}
		b.end()
		for m := net.next(); m != nil; m = net.next() {
			net.finalize(m, nil)
		}
		synctest.Wait()
		if s := table.Node().Stats(); s.Errors > 0 {
			t.Errorf("%d ACKs failed", s.Errors)
		}
		<-removed
	})
}
