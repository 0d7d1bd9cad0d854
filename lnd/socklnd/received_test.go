package socklnd

import (
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
)

// TestReceivedAt: CH-35: if one read brought several messages, each has the time of that read,
// however long it was in the buffer. A message that was still in the socket has the time at
// which it was read from there.
func TestReceivedAt(t *testing.T) {
	spec.Covers(t, "CH-35")
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{Keepalive: -1})
		var times []time.Duration
		h.parse = func(h *host, d *lnd.Delivery) (lnd.Answer, error) {
			times = append(times, d.ReceivedAt)
			if len(times) == 1 {
				time.Sleep(time.Minute) // a handler that blocks, in virtual time
			}
			return validate(h, d)
		}
		began := h.ni.clock.Now()
		go func() {
			two := append(kernelPut(t, 0, pattern(10)), kernelPut(t, 0, pattern(20))...)
			_, _ = k.bulkOut.Write(two)
			_, _ = k.bulkOut.Write(kernelPut(t, 0, pattern(30)))
		}()
		h.wantArrivals(3)
		synctest.Wait()
		if times[0] != began || times[1] != began {
			t.Errorf("messages of one read are of %v and %v, want %v", times[0], times[1], began)
		}
		if want := began + time.Minute; times[2] != want {
			t.Errorf("the message that was read later is of %v, want %v", times[2], want)
		}
	})
}
