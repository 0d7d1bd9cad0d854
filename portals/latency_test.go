package portals_test

import (
	"errors"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/latency"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// answerTo returns the ACK or REPLY to m, a PUT or GET that was sent. The driver has received the answer at
// the instant at.
func answerTo(m *lnd.Message, at time.Duration) *lnd.Delivery {
	d := &lnd.Delivery{From: there, ReceivedAt: at}
	if m.Header.Type == wire.Get {
		d.Header = replyHeader(8, m.Header.Get().ReturnMD)
	} else {
		d.Header = ackHeader(m.Header.Put().AckMD, 8)
	}
	return d
}

// deliver makes a message arrive. Between its header and its payload it calls f.
func (n *network) deliver(t *testing.T, d *lnd.Delivery, f func()) {
	t.Helper()
	if _, err := n.up.Parse(d); err != nil {
		t.Fatal(err)
	}
	f()
	n.receive(d, nil)
}

// wantTimes checks how many operations were timed, and how long they took together.
func wantTimes(t *testing.T, what string, s latency.Snapshot, count uint64, sum time.Duration) {
	t.Helper()
	if s.Count() != count || s.Sum != sum {
		t.Errorf("%s: %d samples, %v together; want %d, %v", what, s.Count(), s.Sum, count, sum)
	}
}

// TestLatencyOfPuts: PUTs of an MD are timed from the call to the ACK of just that PUT, whichever ACKs
// come first. The others are not timed.
func TestLatencyOfPuts(t *testing.T) {
	spec.Covers(t, "OP-90")
	for name, reversed := range map[string]bool{"in order": false, "reversed": true} {
		t.Run(name, func(t *testing.T) {
			h, net, clock := timed(t, lnet.Config{}, lnd.Tunables{PeerCredits: 256, Credits: 256})
			md := h.bind(portals.MD{Segments: []lnd.Segment{make([]byte, 8)}, Threshold: inf})
			for range 128 {
				if err := h.Put(portals.PutRequest{MD: md, Ack: true, Target: there}); err != nil {
					t.Fatal(err)
				}
				clock.advance(time.Millisecond)
			}
			sent, n, sum := net.waiting(), uint64(0), time.Duration(0)
			for i := range sent {
				net.finalize(net.next(), nil)
				if reversed {
					i = len(sent) - 1 - i
				}
				clock.advance(time.Millisecond)
				net.deliver(t, answerTo(sent[i], clock.now), func() {})
				if isTimed(sent[i], md) {
					n++
					sum += clock.now - time.Duration(i)*time.Millisecond // PUT i began after i ms
				}
			}
			if n == 0 || n > 8 {
				t.Errorf("%d of 128 PUTs are timed, want about 2", n)
			}
			wantTimes(t, "PUTs", h.Latencies().PutAck, n, sum)
			wantTimes(t, "GETs", h.Latencies().GetReply, 0, 0)
			wantDrops(t, h.Table, map[string]uint64{})
		})
	}
}

// TestLatencyReadsClock: a PUT that is timed costs one reading of the clock more than one that is not.
func TestLatencyReadsClock(t *testing.T) {
	spec.Covers(t, "OP-90")
	reads, n := map[uint8]int{}, 0
	for _, every := range []uint8{0, 64} {
		h, net, clock := timed(t, lnet.Config{}, lnd.Tunables{PeerCredits: 256, Credits: 256})
		h.TimeOneIn(every)
		md := h.bind(portals.MD{Segments: []lnd.Segment{make([]byte, 8)}, Threshold: inf})
		for range 128 {
			if err := h.Put(portals.PutRequest{MD: md, Ack: true, Target: there}); err != nil {
				t.Fatal(err)
			}
			m := net.next()
			if isTimed(m, md) {
				n++
			}
			net.finalize(m, nil)
			net.deliver(t, answerTo(m, clock.now), func() {})
		}
		reads[every] = clock.reads
	}
	if more := reads[64] - reads[0]; more != n || n == 0 {
		t.Errorf("%d of 128 PUTs are timed: %d readings of the clock, %d without", n, reads[64], reads[0])
	}
}

// TestLatencyOfGets: a GET has taken the time until its data is in the MD, not until the REPLY begins to
// arrive.
func TestLatencyOfGets(t *testing.T) {
	spec.Covers(t, "OP-90")
	h, net, clock := timed(t, lnet.Config{}, lnd.Tunables{})
	h.TimeOneIn(1)
	md := h.bind(portals.MD{Segments: []lnd.Segment{make([]byte, 8)}, Threshold: inf})
	for range 3 {
		ask(t, h.Table, net, md, wire.Get, there)
	}
	wantTimes(t, "without an answer", h.Latencies().GetReply, 0, 0)
	if err := h.Get(portals.GetRequest{MD: md, Target: there, Timeout: time.Hour, OpPtr: h}); err != nil {
		t.Fatal(err)
	}
	m := net.next()
	net.finalize(m, nil)
	clock.advance(time.Second)
	net.deliver(t, answerTo(m, clock.now), func() { clock.advance(time.Second) })
	wantTimes(t, "GETs", h.Latencies().GetReply, 1, 2*time.Second)
}

// TestLatencyOfFailures: an operation that fails, whose answer cannot be received, or whose MD is gone
// is not counted.
func TestLatencyOfFailures(t *testing.T) {
	spec.Covers(t, "OP-90")
	h, net, clock := timed(t, lnet.Config{TransactionTimeout: 10 * time.Second}, lnd.Tunables{})
	h.TimeOneIn(1)
	begin := func() *lnd.Message {
		t.Helper()
		md := h.bind(portals.MD{Segments: []lnd.Segment{make([]byte, 8)}, Threshold: 2})
		if err := h.Get(portals.GetRequest{MD: md, Target: there}); err != nil {
			t.Fatal(err)
		}
		return net.next()
	}
	net.finalize(begin(), errors.New("lost"))

	m := begin()
	net.finalize(m, nil)
	d := answerTo(m, clock.now)
	if _, err := net.up.Parse(d); err != nil {
		t.Fatal(err)
	}
	net.receive(d, errors.New("the connection broke"))

	m = begin()
	net.finalize(m, nil)
	clock.advance(time.Minute)
	net.mustArrive(t, answerTo(m, clock.now).Header)
	wantDrops(t, h.Table, map[string]uint64{"stale handle": 1})
	wantTimes(t, "GETs", h.Latencies().GetReply, 0, 0)
}

// TestLatencySamples: one operation in 64 is timed also if each operation has an MD of its own, in slots
// that are used in turn, and within batches. Nothing is allocated for the timing.
func TestLatencySamples(t *testing.T) {
	spec.Covers(t, "OP-90")
	h := newHarness(t)
	h.post(5, portals.Match{}, portals.MD{
		Segments: []lnd.Segment{make([]byte, 64)}, Threshold: inf, Options: portals.OpPut | portals.OpGet | portals.ManageRemote,
	})
	memory := []lnd.Segment{make([]byte, 8)}
	const slots, rounds = 32, 64
	for range rounds {
		var mds []portals.MDHandle
		for range slots {
			mds = append(mds, h.bind(portals.MD{Segments: memory, Threshold: 2}))
		}
		for _, md := range mds {
			if err := h.Get(portals.GetRequest{MD: md, Target: h.self, Portal: 5}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if s := h.Latencies().GetReply; s.Count() < 16 || s.Count() > 64 || s.Sum <= 0 {
		t.Errorf("%d GETs by %d MDs in turn: %d samples, %v together, want about 32", slots*rounds, slots, s.Count(), s.Sum)
	}
	md := h.bind(portals.MD{Segments: memory, Threshold: inf})
	puts := make([]portals.PutRequest, 64)
	for i := range puts {
		puts[i] = portals.PutRequest{Ack: true, Target: h.self, Portal: 5}
	}
	batch := func() {
		if err := h.PutBatch(portals.PutBatchRequest{MD: md, Puts: puts}); err != nil {
			t.Fatal(err)
		}
	}
	for range 32 {
		batch()
	}
	if s := h.Latencies().PutAck; s.Count() < 16 || s.Count() > 64 {
		t.Errorf("%d samples of 32 batches of 64 PUTs, want about 32", s.Count())
	}
	if n := testing.AllocsPerRun(100, batch); n != 0 && !effort.Race {
		t.Errorf("%v allocations for a batch", n)
	}
}

// TestLatencyOfQueuedPuts: a PUT that had to wait for a credit becomes an inline message also if it is
// timed.
func TestLatencyOfQueuedPuts(t *testing.T) {
	h, net, clock := timed(t, lnet.Config{}, lnd.Tunables{PeerCredits: 1})
	h.TimeOneIn(2)
	md := h.bind(portals.MD{Segments: []lnd.Segment{make([]byte, 8)}, Threshold: inf})
	ask(t, h.Table, net, md, wire.Put, there) // the first message to a peer is never inline
	for range 32 {
		if err := h.Put(portals.PutRequest{MD: md, Ack: true, Target: there}); err != nil {
			t.Fatal(err)
		}
	}
	clock.advance(time.Second)
	n := 0
	for range 32 {
		m := net.next()
		if isTimed(m, md) {
			n++
		}
		if _, inline := m.Owner.(*lnd.Inline); !inline {
			t.Errorf("a PUT did not become an inline message")
		}
		net.finalize(m, nil)
		net.deliver(t, answerTo(m, clock.now), func() {})
	}
	if n == 0 || n == 32 {
		t.Errorf("%d of 32 PUTs are timed, want some of them", n)
	}
	wantTimes(t, "PUTs", h.Latencies().PutAck, uint64(n), time.Duration(n)*time.Second)
}
