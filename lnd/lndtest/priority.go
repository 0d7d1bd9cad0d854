package lndtest

import (
	"sync"
	"testing"

	"ulnet/lnd"
)

// testPriority checks that a small priority message passes bulk messages that are
// queued because the reader has stopped. The driver may already have given some of the
// 32 MiB to the network, but not all of them.
//
// lnet at the receiver holds the first bulk message, of 1 MiB, until all others are
// queued, and the sender goes on sending meanwhile. So a driver with a single stream to
// the peer has to read the payload of the held message into memory of its own.
//
// With several connections to the peer the scheduler decides which of them is read first, so it is
// enough if one of three priority messages arrives before the last bulk message. Without priority
// none does.
func testPriority(t *testing.T, f *fabric) {
	for range 3 {
		if passesBulk(f) {
			return
		}
	}
	t.Error("three priority messages came behind all bulk")
}

// passesBulk reports whether a priority message arrives before the last bulk message.
func passesBulk(f *fabric) bool {
	const bulk = 32
	data := fill(lnd.MaxPayload, 5)
	memory := &sync.Pool{New: func() any { b := make([]byte, lnd.MaxPayload); return &b }}
	first := f.put(f.a, f.b, data)
	f.upB.set(func() {
		f.upB.got, f.upB.held = nil, nil
		f.upB.bulk = memory
		f.upB.parse = func(d *lnd.Delivery) (lnd.Answer, error) {
			if d.Header.Put().MatchBits == first.Header.Put().MatchBits {
				f.upB.set(func() { f.upB.held = append(f.upB.held, d) })
				return lnd.Hold, nil
			}
			if d.Header.PayloadLength < lnd.MaxPayload {
				accept(d, lnd.MaxPayload)
			} else {
				d.Sink = lnd.Payload{Segments: [][]byte{*memory.Get().(*[]byte)}, Length: lnd.MaxPayload}
			}
			return lnd.Accept, nil
		}
	})
	held := func() bool {
		f.upB.mu.Lock()
		defer f.upB.mu.Unlock()
		return len(f.upB.held) == 1
	}
	f.a.Send(first)
	f.await("hold", held)
	stall := f.upB.held[0]

	// The rest is sent from inside an upcall, where even a driver that
	// delivers inside Send has to queue.
	var sent bool
	trigger := f.put(f.a, f.b)
	f.upA.set(func() {
		f.upA.onFinalize = func(m *lnd.Message, _ error) {
			if m != trigger {
				return
			}
			for range bulk {
				f.a.Send(f.put(f.a, f.b, data))
			}
			m = f.put(f.a, f.b, []byte("urgent"))
			m.Priority = true
			f.a.Send(m)
			f.upA.set(func() { sent = true })
		}
	})
	f.a.Send(trigger)
	f.await("sending", func() bool {
		f.upA.mu.Lock()
		defer f.upA.mu.Unlock()
		return sent
	})
	accept(stall, lnd.MaxPayload)
	f.b.Recv(stall)
	f.await("arrivals", f.upB.count(bulk+3))
	return string(f.upB.got[len(f.upB.got)-1].data) != "urgent"
}
