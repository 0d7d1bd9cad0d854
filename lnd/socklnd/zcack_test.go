package socklnd

import (
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
)

// TestZeroCopyAcks: every cookie is answered once, on the connection of type
// BULK_IN, whatever becomes of the payload.
func TestZeroCopyAcks(t *testing.T) {
	sinks := map[string]func(*host, *lnd.Delivery) (lnd.Verdict, error){
		"taken":   validate,
		"dropped": func(*host, *lnd.Delivery) (lnd.Verdict, error) { return lnd.Accept, nil },
		"truncated": func(_ *host, d *lnd.Delivery) (lnd.Verdict, error) {
			takeAll(d)
			d.Sink.Length = 5
			return lnd.Accept, nil
		},
		"held": func(h *host, d *lnd.Delivery) (lnd.Verdict, error) {
			time.AfterFunc(time.Second, func() { takeAll(d); h.ni.Recv(d) })
			return lnd.Hold, nil
		},
	}
	for name, parse := range sinks {
		for _, on := range []string{"bulk", "control"} {
			t.Run(name+" on "+on, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					h, k := established(t, Config{})
					h.parse = parse
					p := k.bulkOut
					if on == "control" {
						p = k.control
					}
					for cookie := uint64(2); cookie < 5; cookie++ {
						go func() { _, _ = p.Write(kernelPut(t, cookie, pattern(16<<10))) }()
						k.bulkOut.expect(noop(0, cookie))
					}
					k.bulkOut.expectOpen(time.Second)
					h.wantArrivals(3)
				})
			})
		}
	}
}

// TestAcksWithoutBulkIn: with CONTROL alone, acks go there.
func TestAcksWithoutBulkIn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newMemNet()
		start(t, "10.0.0.2", n.config(Config{}))
		p := n.connect(t, "10.0.0.1:1023", "10.0.0.2:988")
		p.send(request, helloCtl)
		p.read(56)
		go func() { _, _ = p.Write(kernelPut(t, 42, pattern(16<<10))) }()
		p.expect(noop(0, 42))
	})
}

// TestTooManyAcks: a peer that requests acks and reads none of them does not
// get at our memory.
func TestTooManyAcks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{})
		go func() {
			for cookie := uint64(2); ; cookie += 10 { // what makes no range
				if _, err := k.bulkOut.Write(kernelPut(t, cookie, nil)); err != nil {
					return
				}
			}
		}()
		k.control.expectEnd()
		synctest.Wait()
		h.wantCount(TooManyAcks, 1)
	})
}
