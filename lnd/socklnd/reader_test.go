package socklnd

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
)

// TestFragments (SK-9): messages arrive whole however the stream is cut.
func TestFragments(t *testing.T) {
	spec.Covers(t, "SK-9")
	var stream []byte
	for _, size := range []int{0, 1, 300, 5000} {
		stream = append(stream, kernelPut(t, 0, pattern(size))...)
		stream = append(stream, unhex(t, noop(0, 1))...)
	}
	for _, step := range []int{1, 7, 95, 96, 97, 121, 4096, len(stream)} {
		t.Run(fmt.Sprint(step), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h, k := established(t, Config{})
				go func() {
					for b := stream; len(b) > 0; b = b[min(step, len(b)):] {
						_, _ = k.control.Write(b[:min(step, len(b))])
					}
				}()
				for i, a := range h.wantArrivals(4) {
					if want := pattern([]int{0, 1, 300, 5000}[i]); !bytes.Equal(a.payload, want) {
						t.Errorf("message %d: %d bytes differ from what was sent", i, len(a.payload))
					}
				}
			})
		})
	}
}

// TestBigEndianPeer (SK-9): messages of a big-endian peer are read in its byte order.
func TestBigEndianPeer(t *testing.T) {
	spec.Covers(t, "SK-9")
	bubble(t, func(t *testing.T) {
		n := newMemNet()
		h := start(t, "10.0.0.2", n.config(Config{}))
		p := n.connect(t, "10.77.0.1:1023", "10.0.0.2:988")
		p.send("acce7100 00000001 000200000a000002",
			"45726963 00000003 000200000a4d0001 000200000a000002 00003039 00000000 1122334455667788 0000000000000000 00000001 00000000")
		p.read(56)
		// Only the message header is in the sender's order.
		go p.send("000000c0 00000000 0000000000000000 0000000000000001",
			strings.Replace(pingGet, "c1000000", "000000c1", 1))
		if got := h.wantArrivals(1)[0]; got.from.String() != "12345-10.77.0.1@tcp" {
			t.Errorf("message from %v", got.from)
		}
	})
}

// TestHold (SK-23): a held message stops its connection and no other, for as long as
// it takes.
func TestHold(t *testing.T) {
	spec.Covers(t, "SK-23")
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{Keepalive: -1})
		held := make(chan *lnd.Delivery, 1)
		h.parse = func(h *host, d *lnd.Delivery) (lnd.Answer, error) {
			if d.Header.PayloadLength < 5000 {
				return validate(h, d)
			}
			held <- d
			return lnd.Hold, nil
		}
		go func() {
			_, _ = k.bulkOut.Write(kernelPut(t, 0, pattern(5000)))
			_, _ = k.bulkOut.Write(kernelPut(t, 0, pattern(10)))
		}()
		time.Sleep(5 * time.Minute)
		go k.control.send(pingGet)
		h.wantArrivals(1)
		d := <-held
		takeAll(d)
		h.ni.Recv(d)
		got := h.wantArrivals(3)
		if !bytes.Equal(got[1].payload, pattern(5000)) || !bytes.Equal(got[2].payload, pattern(10)) {
			t.Error("payload differs")
		}
	})
}

// TestHoldOfHeaderInPieces: the header of a message came in several reads, cut anywhere, and
// the message is held for longer than sock_timeout. That does not count as a message that
// stopped half-way: the connection stays. The payload and the next message arrive, whether they
// came with the last piece or later, and whatever other connections receive meanwhile.
func TestHoldOfHeaderInPieces(t *testing.T) {
	const (
		header = 24 + 72
		beside = 8000 // bytes of a message that another connection transfers meanwhile
	)
	for name, cuts := range map[string][]int{
		"within the message header": {10},
		"within the LNet header":    {60},
		"between the headers":       {24},
		"byte by byte":              {1, 2, 3, 23, 24, 25, 95},
		"with some payload":         {60, header + 100},
		"with the next message":     {60, header + 5000 + 40},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h, k := established(t, Config{Keepalive: -1, SockTimeout: 50 * time.Second})
				held := make(chan *lnd.Delivery, 2)
				h.parse = func(h *host, d *lnd.Delivery) (lnd.Answer, error) {
					if d.Header.PayloadLength == beside {
						return validate(h, d)
					}
					held <- d
					return lnd.Hold, nil
				}
				stream := append(kernelPut(t, 0, pattern(5000)), kernelPut(t, 0, pattern(10))...)
				go func() {
					begin := 0
					for _, end := range append(slices.Clone(cuts), len(stream)) {
						_, _ = k.bulkOut.Write(stream[begin:end])
						begin = end
						time.Sleep(time.Second) // a second of virtual time: the reader takes each piece by itself
					}
				}()
				for i, size := range []int{5000, 10} {
					time.Sleep(5 * time.Minute)
					d := <-held
					go func() { _, _ = k.control.Write(kernelPut(t, 0, bytes.Repeat([]byte{0xEE}, beside))) }()
					h.wantArrivals(2*i + 1)
					takeAll(d)
					h.ni.Recv(d)
					if got := h.wantArrivals(2*i + 2)[2*i+1]; !bytes.Equal(got.payload, pattern(size)) {
						t.Errorf("message %d differs", i)
					}
				}
				h.wantCount(ReceiveTimeout, 0)
				if h.conns() != 3 {
					t.Errorf("%d connections, want 3", h.conns())
				}
			})
		})
	}
}

// TestAbandon: the connection ends while a message is held. lnet gives the message up, and the
// connection's reader ends.
func TestAbandon(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{})
		h.parse = func(*host, *lnd.Delivery) (lnd.Answer, error) { return lnd.Hold, nil }
		go func() { _, _ = k.bulkOut.Write(kernelPut(t, 0, pattern(50))) }()
		synctest.Wait()
		k.control.Close()
		h.await("the delivery to be given up", func() bool { return h.gone == 1 })
		if len(h.broken) != 0 {
			t.Errorf("delivered all the same: %v", h.broken)
		}
	})
}

// TestHoldOfLostPeer: the connection ends while a message is held that lnet
// has just taken; Recv then gets an error.
func TestHoldOfLostPeer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{})
		held := make(chan *lnd.Delivery, 1)
		h.taken = true
		h.parse = func(_ *host, d *lnd.Delivery) (lnd.Answer, error) { held <- d; return lnd.Hold, nil }
		go func() { _, _ = k.bulkOut.Write(kernelPut(t, 0, pattern(5000))) }()
		synctest.Wait()
		k.control.Close()
		h.await("PeerDown", func() bool { return len(h.downs) == 1 })
		d := <-held
		takeAll(d)
		h.ni.Recv(d)
		h.await("Delivered with an error", func() bool { return len(h.broken) == 1 })
	})
}

// TestShortSink: lnet gives a sink that has less memory than its Length says, whether the payload
// arrived along with the header or later. The message fails.
func TestShortSink(t *testing.T) {
	for _, size := range []int{100, 100_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h, k := established(t, Config{})
				h.parse = func(_ *host, d *lnd.Delivery) (lnd.Answer, error) {
					d.Sink = lnd.Payload{Segments: []lnd.Segment{make([]byte, 10)}, Length: size}
					return lnd.Accept, nil
				}
				go func() { _, _ = k.control.Write(kernelPut(t, 0, pattern(size))) }()
				h.await("Delivered with an error", func() bool { return len(h.broken) == 1 })
				if !errors.Is(h.broken[0], errShortSink) {
					t.Errorf("error %v", h.broken[0])
				}
			})
		})
	}
}
