package portals_test

import (
	"slices"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// answerHandle returns the handle that the answer to a PUT with Ack, or to a GET, is to have.
func answerHandle(m *lnd.Message) wire.MDHandle {
	if m.Header.Type == wire.Get {
		return m.Header.Get().ReturnMD
	}
	return m.Header.Put().AckMD
}

// isTimed reports whether an operation of an MD is timed: its answer has a handle of its own.
func isTimed(m *lnd.Message, md portals.MDHandle) bool { return answerHandle(m) != handle(md) }

// TestLatencyOfPatterns: operations alternate in their type or their target. Each kind of operation is timed
// with the same frequency, whether all belong to one MD or to MDs that use one slot in turn.
func TestLatencyOfPatterns(t *testing.T) {
	spec.Covers(t, "OP-90")
	memory := []lnd.Segment{make([]byte, 8)}
	for name, c := range map[string]struct {
		period int
		once   bool // each operation has an MD of its own, which ends with it
	}{
		"types of one MD": {2, false}, "types in one slot": {2, true}, "16 targets": {16, false},
	} {
		t.Run(name, func(t *testing.T) {
			h, net, clock := timed(t, lnet.Config{}, lnd.Tunables{})
			md := h.bind(portals.MD{Segments: memory, Threshold: inf})
			counts := make([]int, c.period)
			for i := range 16 * 64 * c.period {
				if c.once {
					_ = h.MDUnlink(md)
					md = h.bind(portals.MD{Segments: memory, Threshold: inf})
				}
				m := sendEither(t, h, net, md, i%2 == 1)
				if isTimed(m, md) {
					counts[i%c.period]++
				}
				net.deliver(t, answerTo(m, clock.now), func() {})
			}
			if slices.Min(counts) < 4 || slices.Max(counts) > 32 {
				t.Errorf("of 1024 operations of each kind, so many are timed, want about 16: %v", counts)
			}
		})
	}
}

// sendEither sends a GET or a PUT with Ack of an MD, and returns its message.
func sendEither(t *testing.T, h *harness, net *network, md portals.MDHandle, get bool) *lnd.Message {
	t.Helper()
	var err error
	if get {
		err = h.Get(portals.GetRequest{MD: md, Target: there})
	} else {
		err = h.Put(portals.PutRequest{MD: md, Ack: true, Target: there})
	}
	if err != nil {
		t.Fatal(err)
	}
	m := net.next()
	net.finalize(m, nil)
	return m
}

// TestLatencyOfFirsts: of the first operations in slots that were never used before, one in 64 is timed.
func TestLatencyOfFirsts(t *testing.T) {
	spec.Covers(t, "OP-90")
	h, net, clock := timed(t, lnet.Config{}, lnd.Tunables{})
	const mds = 64 * 64
	n := 0
	for range mds {
		md := h.bind(portals.MD{Segments: []lnd.Segment{make([]byte, 8)}, Threshold: inf})
		m := sendEither(t, h, net, md, false)
		if isTimed(m, md) {
			n++
		}
		net.deliver(t, answerTo(m, clock.now), func() {})
	}
	if n < 32 || n > 96 {
		t.Errorf("%d of %d first operations are timed, want about 64", n, mds)
	}
}

// TestLatencyWithoutAnswers: of an MD whose answers do not come, 8 operations are timed and no further
// ones, so that lost answers take no more memory. The answers are not forgotten: when they come after
// all, each has its event, and operations are timed again.
func TestLatencyWithoutAnswers(t *testing.T) {
	spec.Covers(t, "OP-90")
	const puts, limit = 64 * 100, 8
	h, net, clock := timed(t, lnet.Config{}, lnd.Tunables{})
	acks := 0
	md := h.bind(portals.MD{
		Segments: []lnd.Segment{make([]byte, 8)}, Threshold: inf, Options: portals.NoTrackResponse,
		Handler: func(e *portals.Event) {
			if e.Kind == portals.EventAck {
				acks++
			}
		},
	})
	for round := range 2 {
		var sent []*lnd.Message
		n := 0
		for range puts {
			m := sendEither(t, h, net, md, false)
			if sent = append(sent, m); isTimed(m, md) {
				n++
			}
		}
		if n != limit {
			t.Errorf("round %d: %d of %d PUTs without ACKs are timed, want %d", round, n, puts, limit)
		}
		clock.advance(time.Hour)
		for _, m := range sent {
			net.deliver(t, answerTo(m, clock.now), func() {})
		}
	}
	if acks != 2*puts {
		t.Errorf("%d ACK events, want %d", acks, 2*puts)
	}
	wantTimes(t, "PUTs", h.Latencies().PutAck, 2*limit, 2*limit*time.Hour)
	wantDrops(t, h.Table, map[string]uint64{})
}
