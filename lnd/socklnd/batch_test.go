package socklnd

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

// upBatches checks that a driver keeps the rules of lnd.Batcher.
type upBatches struct {
	mu     sync.Mutex
	open   map[*lnd.Delivery]lnd.Delivery // latest message of each open batch; guarded by mu, like all below
	parsed int                            // messages that came with their payload
	repeat int                            // messages that repeated a header
	ended  int
	again  int  // messages that were offered all at once
	takes  bool // whether lnet takes the messages that the driver offers all at once; offered returns it
}

// parse checks and records a message. It returns true for every second message whose payload has
// come along: the test takes that payload at once.
func (b *upBatches) parse(t testing.TB, d *lnd.Delivery) (takes bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open == nil {
		b.open = make(map[*lnd.Delivery]lnd.Delivery)
	}
	before, ok := b.open[d]
	if d.Repeats {
		b.repeat++
		if now, then := constant(d), constant(&before); !ok || !before.More || now != then {
			t.Errorf("a message repeats the header of the one before: %+v after %+v", now, then)
		}
	}
	if d.More || ok {
		b.open[d] = *d
	}
	if d.Data == nil {
		return false
	}
	if len(d.Data) != int(d.Header.PayloadLength) {
		t.Errorf("%d bytes of a payload of %d", len(d.Data), d.Header.PayloadLength)
	}
	b.parsed++
	return b.parsed%2 == 0
}

// offered checks and counts an offer of n messages that are equal to the latest one.
func (b *upBatches) offered(t testing.TB, d *lnd.Delivery, n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if before, ok := b.open[d]; n < 1 || !ok || !before.More || d.Header.Type != wire.Ack {
		t.Errorf("%d messages equal to %+v, of an open batch: %t", n, d.Header, ok)
	}
	b.again += n
	return b.takes
}

// constant returns what must be the same in a message that repeats a header (Delivery.Repeats) and
// in the message before it.
func constant(d *lnd.Delivery) any {
	h := d.Header
	h.PayloadLength, h.Body = 0, wire.Header{}.Body
	return struct {
		header          wire.Header
		from            any
		incarnation, at any
	}{h, d.From, d.Incarnation, d.ReceivedAt}
}

func (b *upBatches) end(t testing.TB, d *lnd.Delivery) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.open[d]; !ok {
		t.Errorf("the end of a batch that did not begin")
	}
	delete(b.open, d)
	b.ended++
}

// waiting returns the number of batches that have not ended.
func (b *upBatches) waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.open)
}

// TestBatch: the messages that one read has brought are one batch, which ends before the reader
// waits: for the next message, for the rest of a message, or while a message is held. However the
// stream is cut, all messages arrive as they were sent.
func TestBatch(t *testing.T) {
	sizes := []int{0, 8, 8, 8, 4096, 4097, 8, 0}
	var stream []byte
	ends := []int{0} // where each message ends
	for _, size := range sizes {
		stream = append(stream, kernelPut(t, 0, pattern(size))...)
		ends = append(ends, len(stream))
	}
	for name, cuts := range map[string][]int{
		"whole":               {},
		"in a header":         {ends[2] + 30},
		"in a payload":        {ends[2] + 99},
		"between the headers": {ends[2] + 24},
		"in a large payload":  {ends[5] + 2000},
		"between messages":    {ends[3]},
		"a small first read":  {ends[1], ends[3] + 50},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h, k := established(t, Config{Keepalive: -1})
				begin := 0
				for _, end := range append(slices.Clone(cuts), len(stream)) {
					part := stream[begin:end]
					begin = end
					go func() { _, _ = k.control.Write(part) }()
					synctest.Wait()
					if n := h.upBatches.waiting(); n > 0 {
						t.Errorf("the reader waits, and %d batches have not ended", n)
					}
				}
				for i, a := range h.wantArrivals(len(sizes)) {
					if string(a.payload) != string(pattern(sizes[i])) {
						t.Errorf("message %d: %d bytes differ from what was sent", i, len(a.payload))
					}
				}
				if name == "whole" && (h.upBatches.repeat != len(sizes)-1 || h.upBatches.ended == 0) {
					t.Errorf("%d headers were repeated in %d batches", h.upBatches.repeat, h.upBatches.ended)
				}
				n := uint64(0)
				for _, c := range h.ni.Snapshot().Peers[0].Conns {
					n += c.RxMessages
				}
				if n != uint64(len(sizes)) {
					t.Errorf("%d messages were counted", n)
				}
			})
		})
	}
}

// TestBatchAgain: ACKs of one read that are equal to the ACK before them are offered to lnet all at once
// (lnd.Batcher), except for the last message of the read. If lnet refuses the offer, each ACK is parsed. All
// messages are counted.
func TestBatchAgain(t *testing.T) {
	spec.Covers(t, "SK-9")
	ack := kernelPut(t, 0, nil)
	clear(ack[ksock.MsgHeaderSize+24 : ksock.MsgHeaderSize+28]) // the type of an ACK is 0
	stream := append(bytes.Repeat(ack, 10), kernelPut(t, 0, pattern(8))...)
	for _, c := range []struct {
		name    string
		takes   bool
		stream  []byte
		offered int // number of ACKs, from the third one on, that the driver offers all at once, without a Parse for each
		parsed  int
		counted uint64
	}{
		{"taken, before a PUT", true, stream, 8, 3, 11},
		{"taken, to the end of the read", true, stream[:10*len(ack)], 7, 3, 10},
		{"taken, in a part", true, stream[:10*len(ack)-1], 7, 2, 10},
		{"refused", false, stream, 8, 11, 11},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h, k := established(t, Config{Keepalive: -1})
				h.upBatches.takes = c.takes
				go func() { _, _ = k.control.Write(c.stream) }()
				synctest.Wait()
				if b := &h.upBatches; b.again != c.offered || b.parsed != c.parsed {
					t.Errorf("%d messages were offered, want %d; %d parsed, want %d", b.again, c.offered, b.parsed, c.parsed)
				}
				n := uint64(0)
				for _, conn := range h.ni.Snapshot().Peers[0].Conns {
					n += conn.RxMessages
				}
				if n != c.counted {
					t.Errorf("%d messages were counted, want %d", n, c.counted)
				}
			})
		})
	}
}

// TestBatchAgainRefused: lnet refuses to take the equal ACKs of one read all at once. The driver
// offers it those of the next read all at once nevertheless.
func TestBatchAgainRefused(t *testing.T) {
	ack := kernelPut(t, 0, nil)
	clear(ack[ksock.MsgHeaderSize+24 : ksock.MsgHeaderSize+28]) // the type of an ACK is 0
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{Keepalive: -1})
		for n, want := range []int{8, 16} {
			h.upBatches.takes = n > 0
			go func() { _, _ = k.control.Write(append(bytes.Repeat(ack, 11), kernelPut(t, 0, pattern(8))...)) }()
			synctest.Wait()
			if again := h.upBatches.again; again < want {
				t.Errorf("after %d reads, %d messages were offered", n+1, again)
			}
		}
	})
}

// TestBatchHold: a message in the middle of a batch is held. The batch ends there, and the messages
// after it are another batch.
func TestBatchHold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{Keepalive: -1})
		held := make(chan *lnd.Delivery, 1)
		parsed := 0
		h.parse = func(h *host, d *lnd.Delivery) (lnd.Answer, error) {
			if parsed++; parsed == 3 {
				held <- d
				return lnd.Hold, nil
			}
			return validate(h, d)
		}
		var stream []byte
		for i := range 6 {
			stream = append(stream, kernelPut(t, 0, fmt.Append(nil, i))...)
		}
		go func() { _, _ = k.control.Write(stream) }()
		synctest.Wait()
		if n := h.upBatches.waiting(); n > 0 {
			t.Errorf("the reader waits, and %d batches have not ended", n)
		}
		d := <-held
		takeAll(d)
		h.ni.Recv(d)
		for i, a := range h.wantArrivals(6) {
			if string(a.payload) != fmt.Sprint(i) {
				t.Errorf("message %d is %q", i, a.payload)
			}
		}
	})
}

// TestBatchRefused: a peer breaks the protocol in the middle of a batch. The batch ends with its
// connection.
func TestBatchRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{Keepalive: -1})
		bad := kernelPut(t, 0, pattern(8))
		bad[24+24] = 9 // 9 is no message type
		stream := slices.Concat(kernelPut(t, 0, pattern(8)), kernelPut(t, 0, pattern(8)), bad, kernelPut(t, 0, pattern(8)))
		go func() { _, _ = k.control.Write(stream) }()
		h.await("PeerDown", func() bool { return len(h.downs) == 1 })
		synctest.Wait()
		if n := h.upBatches.waiting(); n > 0 || h.upBatches.ended == 0 {
			t.Errorf("%d batches have not ended, %d have", n, h.upBatches.ended)
		}
		h.wantArrivals(2)
	})
}
