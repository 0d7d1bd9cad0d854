package socklnd

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

// sumNoop is a NOOP that acknowledges cookie 7, sumPut a PUT of "payload!" from
// 10.0.0.1 to 10.0.0.2, each with the checksum that kernels give it.
const (
	sumNoop = "c0000000 19339e3d 0000000000000000 0700000000000000"
	sumPut  = "c1000000 9c1bd30c 0000000000000000 0000000000000000" +
		"0200000a00000200 0100000a00000200 39300000 39300000 01000000 08000000" +
		"ffffffffffffffffffffffffffffffff 9900000000000000 cdab000000000000 0c000000 04000000" +
		"7061796c6f616421"
)

// established2 is our NI and a connection of CONTROL type in version 2.
func established2(t *testing.T, cfg Config) (*host, *probe) {
	t.Helper()
	n := newMemNet()
	h := start(t, "10.0.0.2", n.config(cfg))
	h.parse = validate
	p := n.connect(t, "10.0.0.1:1023", "10.0.0.2:988")
	p.send(request, inVersion2(helloCtl))
	p.expect(inVersion2(answerCtl))
	synctest.Wait()
	return h, p
}

// withSum returns message b with its checksum filled in.
func withSum(b []byte) []byte {
	h, rest, err := ksock.ParseMsgHeader(b, false)
	if err != nil {
		panic(err)
	}
	binary.LittleEndian.PutUint32(b[4:], ksock.Checksum(h, rest))
	return b
}

// TestChecksumVectors checks messages that kernels have sent.
func TestChecksumVectors(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, p := established2(t, Config{})
		go p.send(sumPut)
		if got := h.wantArrivals(1)[0]; string(got.payload) != "payload!" {
			t.Errorf("got %q", got.payload)
		}
		// the checksum is right, but no message of ours has this cookie: the connection ends because of
		// BadAck
		go p.send(sumNoop)
		p.expectEnd()
		synctest.Wait()
		h.wantCount(BadChecksum, 0)
		h.wantCount(BadAck, 1)
	})
}

// TestChecksumMismatch (payload: csum mismatch; ksock header: NOOP bad csum, SK-10): the
// message ends with EIO, wherever the error is and whether the payload was wanted or not. No
// cookie is acknowledged, and the connections are closed.
func TestChecksumMismatch(t *testing.T) {
	spec.Covers(t, "SK-10")
	const size = 70000
	sinks := map[string]func(*host, *lnd.Delivery) (lnd.Answer, error){
		"taken":   validate,
		"dropped": func(*host, *lnd.Delivery) (lnd.Answer, error) { return lnd.Accept, nil },
		"truncated": func(_ *host, d *lnd.Delivery) (lnd.Answer, error) {
			takeAll(d)
			d.Sink.Length = size / 2
			return lnd.Accept, nil
		},
		"held": func(h *host, d *lnd.Delivery) (lnd.Answer, error) {
			time.AfterFunc(time.Second, func() { takeAll(d); h.ni.Recv(d) })
			return lnd.Hold, nil
		},
	}
	for sink, parse := range sinks {
		for _, at := range []int{4, 24 + 48, 24 + 72, 24 + 72 + size - 1} {
			t.Run(fmt.Sprintf("%s, byte %d", sink, at), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					h, p := established2(t, Config{})
					h.parse = parse
					b := withSum(kernelPut(t, 9, pattern(size)))
					b[at] ^= 0x10
					go func() { _, _ = p.Write(b) }()
					p.expectEnd()
					h.await("the end of the message", func() bool { return len(h.broken) == 1 })
					if !errors.Is(h.broken[0], syscall.EIO) {
						t.Error(h.broken[0])
					}
					h.await("PeerDown", func() bool { return len(h.downs) == 1 })
					h.wantCount(BadChecksum, 1)
				})
			})
		}
	}
	t.Run("NOOP", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			h, p := established2(t, Config{})
			go p.send(strings.Replace(noop(0, 1), "c000000000000000", "c00000003d9e3319", 1))
			p.expectEnd()
			synctest.Wait()
			h.wantCount(BadChecksum, 1)
		})
	})
}

// TestChecksumInPieces: a good checksum is good however the stream is cut and
// whatever lies before and behind the message.
func TestChecksumInPieces(t *testing.T) {
	sizes := []int{0, 1, 300, 5000, 70000}
	var stream []byte
	for i, size := range sizes {
		b := kernelPut(t, 0, pattern(size))
		if i%2 == 0 {
			b = withSum(b)
		}
		stream = append(stream, b...)
	}
	for _, cut := range []int{7, 96, 4096, 9000, len(stream)} {
		t.Run(fmt.Sprint(cut), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h, p := established2(t, Config{})
				go func() {
					for b := stream; len(b) > 0; b = b[min(cut, len(b)):] {
						_, _ = p.Write(b[:min(cut, len(b))])
					}
				}()
				for i, a := range h.wantArrivals(len(sizes)) {
					if !bytes.Equal(a.payload, pattern(sizes[i])) {
						t.Errorf("message %d differs", i)
					}
				}
			})
		})
	}
}

// TestChecksumSent (SK-11): with enable_csum each message of version 2 has a checksum,
// in one piece of memory or many, NOOPs too. Messages of version 3 have none.
func TestChecksumSent(t *testing.T) {
	spec.Covers(t, "SK-11")
	bubble(t, func(t *testing.T) {
		h, p := established2(t, Config{Checksum: true})
		for _, size := range []int{0, 8, 1000, 60000} {
			h.put(probeID, pattern(size)[:size/2], pattern(size)[size/2:])
			wantSum(t, p.read(24+72+size))
		}
		go func() { _, _ = p.Write(kernelPut(t, 7, pattern(10))) }()
		p.expect(sumNoop)
	})
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{Checksum: true})
		h.put(probeID, pattern(8))
		if b := k.control.read(24 + 72 + 8); binary.LittleEndian.Uint32(b[4:]) != 0 {
			t.Errorf("checksum in version 3: %x", b[:24])
		}
	})
}

func wantSum(t *testing.T, b []byte) {
	t.Helper()
	h, rest, err := ksock.ParseMsgHeader(b, false)
	if err != nil || h.Checksum == 0 || h.Checksum != ksock.Checksum(h, rest) {
		t.Errorf("%d bytes: %v, checksum %#x, want %#x", len(b), err, h.Checksum, ksock.Checksum(h, rest))
	}
}

// TestInjectedChecksumError: one checksum is sent wrong. The peer closes the connections, as kernels do.
// Messages that are sent later arrive.
func TestInjectedChecksumError(t *testing.T) {
	f := newTCPFabric()
	cfg := Config{Protocol: 2, Checksum: true, MinReconnect: 10 * time.Millisecond}
	b := start(t, "127.0.0.2", f.config(cfg))
	cfg.InjectChecksumError = true
	a := start(t, "127.0.0.1", f.config(cfg))
	a.put(b.id(), pattern(5000))
	b.await("the spoilt message", func() bool { return len(b.broken) == 1 })
	if !errors.Is(b.broken[0], syscall.EIO) {
		t.Error(b.broken[0])
	}
	// The error is counted when the connection closes.
	if counted := func() bool { return b.ni.counts[BadChecksum].Load() > 0 }; !lndtest.Poll(counted) {
		t.Error("it is not counted")
	}
	for n := 1; len(b.arrivals()) == 0; n++ { // messages fail until the back-off is over
		a.wantFinalized(n)
		a.put(b.id(), pattern(100))
	}
	b.wantCount(BadChecksum, 1)
}

// TestForeignChecksum: a checksum in a message of version 3 is counted and not verified.
func TestForeignChecksum(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{})
		go k.control.send(strings.Replace(sumPut, "9c1bd30c", "01020304", 1))
		h.wantArrivals(1)
		h.wantCount(ForeignChecksum, 1)
		k.control.expectOpen(time.Second)
	})
}

// TestChecksumSwapped: the checksum covers the header as it was sent, in the byte order of
// the sender.
func TestChecksumSwapped(t *testing.T) {
	b := kernelPut(t, 0, pattern(100))
	k := ksock.MsgHeader{BigEndian: true, Type: ksock.LNet}
	k.Checksum = ksock.Checksum(k, b[24:])
	bubble(t, func(t *testing.T) {
		n := newMemNet()
		h := start(t, "10.0.0.2", n.config(Config{}))
		p := n.connect(t, "10.77.0.1:1023", "10.0.0.2:988")
		p.send("acce7100 00000001 000200000a000002",
			"45726963 00000002 000200000a4d0001 000200000a000002 00003039 00000000 1122334455667788 0000000000000000 00000001 00000000")
		p.read(56)
		go func() { _, _ = p.Write(append(must(k.AppendBinary(nil)), b[24:]...)) }()
		if got := h.wantArrivals(1)[0]; got.header.Type != wire.Put {
			t.Errorf("got a %v", got.header.Type)
		}
	})
}
