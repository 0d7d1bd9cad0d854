package o2iblnd

import (
	"bytes"
	"testing"
	"time"
)

// TestHoldMany: the payloads of maxKept messages that lnet holds are kept at this side.
// Further messages wait at the peer until lnet goes on, except for a priority message.
func TestHoldMany(t *testing.T) {
	const n = 200
	v := newVirtual(t, Config{})
	a, b := v.ups[0], v.ups[1]
	b.hold = true
	for i := range n {
		v.nis[0].Send(newMessage(v.nis[0], v.nis[1].nid, i))
	}
	held := func(n int) func(s *sink) bool { return func(s *sink) bool { return len(s.held) == n } }
	v.until("held messages", time.Second, held(maxKept+7), b)
	v.clock.Run(v.clock.Now() + time.Second)
	if len(b.held) != maxKept+7 {
		t.Fatalf("%d held", len(b.held))
	}
	if s := v.nis[1].Snapshot(); s.Receives.Free != 1024 {
		t.Errorf("%d buffers are free", s.Receives.Free)
	}
	urgent := newMessage(v.nis[0], v.nis[1].nid, 10)
	urgent.Priority = true
	v.nis[0].Send(urgent)
	v.until("the urgent one", time.Second, held(maxKept+8), b)
	b.mu.Lock()
	b.hold = false
	list := b.held
	b.held = nil
	b.mu.Unlock()
	for _, d := range list {
		segments, size := d.Sink.Segments, int(d.Header.PayloadLength)
		v.nis[1].Recv(d) // from now on d belongs to the driver
		if got := bytes.Join(segments, nil); !bytes.Equal(got, noise[:size]) {
			t.Fatalf("a payload of %d bytes has changed", size)
		}
	}
	v.until("all", time.Second, func(s *sink) bool { return s.arrived == n+1 }, b)
	v.until("all ends", time.Second, func(s *sink) bool { return s.finished == n+1 }, a)
	if len(a.errs)+len(b.errs) > 0 {
		t.Errorf("%v %v", a.errs, b.errs)
	}
	v.shut(0)
	v.shut(1)
}
