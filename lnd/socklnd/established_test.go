package socklnd

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// kernel is a hand-made peer at 10.0.0.1 with all three connections to our NI
// at 10.0.0.2. The names are those of its own view.
type kernel struct {
	net                      *memNet
	control, bulkIn, bulkOut *probe
}

// established brings up our NI and a kernel that has dialled it.
func established(t *testing.T, cfg Config) (*host, *kernel) {
	t.Helper()
	n := newMemNet()
	h := start(t, "10.0.0.2", n.config(cfg))
	h.parse, h.patience = validate, time.Hour
	k := &kernel{net: n}
	for i, c := range []struct {
		to           **probe
		opens, wants string
	}{{&k.control, helloCtl, answerCtl}, {&k.bulkIn, helloIn, answerOut}, {&k.bulkOut, helloOut, answerIn}} {
		p := n.connect(t, fmt.Sprintf("10.0.0.1:%d", 1023-i), "10.0.0.2:988")
		p.send(request, c.opens)
		p.expect(c.wants)
		*c.to = p
	}
	h.await("PeerUp", func() bool { return len(h.ups) == 1 })
	synctest.Wait()
	return h, k
}

// validate refuses what lnet refuses and takes all else.
func validate(_ *host, d *lnd.Delivery) (lnd.Verdict, error) {
	if err := d.Header.Validate(); err != nil {
		return lnd.Accept, err
	}
	takeAll(d)
	return lnd.Accept, nil
}

// put is a PUT of the kernel with the given cookie.
func kernelPut(t *testing.T, cookie uint64, payload []byte) []byte {
	t.Helper()
	m := newPut(probeID, nid.ProcessID{NID: nid.MustParse("10.0.0.2@tcp"), PID: nid.LustrePID}, payload)
	b, _ := ksock.MsgHeader{Type: ksock.LNet, Cookies: [2]uint64{cookie, 0}}.AppendBinary(nil)
	b, err := m.Header.AppendBinary(b)
	if err != nil {
		t.Fatal(err)
	}
	return append(b, payload...)
}

func noop(cookies ...uint64) string {
	return fmt.Sprintf("%x", must(ksock.MsgHeader{Type: ksock.Noop, Cookies: [2]uint64{cookies[0], cookies[1]}}.AppendBinary(nil)))
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// TestBadMessages: what breaks the protocol ends all connections of the peer,
// and leaves another peer behind the same address alone.
func TestBadMessages(t *testing.T) {
	const lnetHeader = "c1000000 00000000 0000000000000000 0000000000000000" +
		"0200000a00000200 0100000a00000200 39300000 39300000 "
	body := strings.Repeat("00", 40)
	for _, tt := range []struct {
		name, send string
		why        Reason
	}{
		{"unknown message type", "c2000000 00000000 0000000000000000 0000000000000000", BadMessageType},
		{"http", fmt.Sprintf("%x", "GET /index.html HTTP/1.0\r\n"), BadMessageType},
		{"ack of no cookie", noop(0, 7), BadAck},
		{"ack of two cookies", noop(9, 7), BadAck},
		{"ack of a range", noop(7, 9), BadAck},
		{"ack of a huge range", noop(2, 1<<60), BadAck},
		{"keepalive with a cookie", noop(5, 1), BadAck},
		{"ack within a message", strings.Replace(pingGet, "0000000000000000 ;", "0700000000000000 ;", 1), BadAck},
		{"HELLO as message", lnetHeader + "04000000 00000000" + body, BadMessage},
		{"unknown LNet type", lnetHeader + "09000000 00000000" + body, BadMessage},
		{"GET with payload", lnetHeader + "02000000 01000000" + body, BadMessage},
		{"ACK with payload", lnetHeader + "00000000 01000000" + body, BadMessage},
		{"payload above 1 MiB", lnetHeader + "01000000 01001000" + body, BadMessage},
		{"payload of 4 GiB", lnetHeader + "01000000 ffffffff" + body, BadMessage},
		{"end within the message header", "c1000000 00", CutMessage},
		{"end within the LNet header", lnetHeader, CutMessage},
		{"end within the payload", lnetHeader + "01000000 10000000" + body + "0123", CutMessage},
		{"end between messages", noop(0, 1), PeerClosed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h, k := established(t, Config{})
				other := k.net.connect(t, "10.0.0.1:1000", "10.0.0.2:988")
				other.send(request, strings.Replace(helloCtl, "0100000a00000200", "0100000a05000200", 1))
				other.read(56)
				go func() {
					k.bulkOut.send(tt.send)
					if tt.why == CutMessage || tt.why == PeerClosed {
						k.bulkOut.Close()
					}
				}()
				k.control.expectEnd()
				k.bulkIn.expectEnd()
				h.await("PeerDown", func() bool { return len(h.downs) == 1 })
				h.wantCount(tt.why, 1)
				go other.send(pingGet)
				h.wantArrivals(1)
				other.expectOpen(time.Second)
			})
		})
	}
}

func TestChecksumOfVersion2(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newMemNet()
		h := start(t, "10.0.0.2", n.config(Config{}))
		p := n.connect(t, "10.0.0.1:1023", "10.0.0.2:988")
		p.send(request, inVersion2(helloCtl))
		p.read(56)
		go p.send(strings.Replace(noop(0, 1), "c000000000000000", "c00000003d9e3319", 1))
		p.expectEnd()
		synctest.Wait()
		h.wantCount(BadChecksum, 1)
	})
}

// TestToleratedMessages is what leaves the connections as they are.
func TestToleratedMessages(t *testing.T) {
	for name, send := range map[string]string{
		"keepalive":                       noop(0, 1),
		"keepalive of two ones":           noop(1, 1),
		"NOOP without cookies":            noop(0, 0),
		"NOOP with only the first cookie": noop(9, 0),
		"checksum in version 3":           strings.Replace(pingGet, "c1000000 00000000", "c1000000 12345678", 1),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h, k := established(t, Config{})
				before := len(h.arrived)
				go k.control.send(send, pingGet)
				h.await("the ping", func() bool { return len(h.arrived) > before })
				k.control.expectOpen(time.Second)
			})
		})
	}
}

// TestFragments: messages arrive whole however the stream is cut.
func TestFragments(t *testing.T) {
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

func TestBigEndianPeer(t *testing.T) {
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

// TestReceiveTimeout: a message that stops half-way ends the connections
// between sock_timeout and 1.25 × sock_timeout.
func TestReceiveTimeout(t *testing.T) {
	whole := kernelPut(t, 0, pattern(100))
	for name, part := range map[string]int{
		"message header": 10, "LNet header": 24, "in the LNet header": 50, "payload": 150,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h, k := established(t, Config{Keepalive: -1})
				_, _ = k.control.Write(whole[:part])
				d := k.bulkIn.expectEnd()
				if d < 50*time.Second || d > 63*time.Second {
					t.Errorf("closed after %v", d)
				}
				h.await("PeerDown", func() bool { return len(h.downs) == 1 })
				h.wantCount(ReceiveTimeout, 1)
				if err := h.downs[0]; !errors.Is(err, syscall.ETIMEDOUT) {
					t.Error(err)
				}
			})
		})
	}
}

// TestSlowSender: progress of any size keeps a message alive.
func TestSlowSender(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{Keepalive: -1})
		for _, b := range kernelPut(t, 0, pattern(4)) {
			_, _ = k.control.Write([]byte{b})
			time.Sleep(30 * time.Second)
		}
		h.wantArrivals(1)
	})
}

// TestSendTimeout: a peer that reads nothing loses its connections; another
// peer is not concerned.
func TestSendTimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{Keepalive: -1})
		begin := time.Now()
		for range 5 {
			h.put(probeID, pattern(10))
		}
		for _, err := range h.wantFinalized(5) {
			if !errors.Is(err, syscall.ETIMEDOUT) {
				t.Error(err)
			}
		}
		if d := time.Since(begin); d < 50*time.Second || d > 63*time.Second {
			t.Errorf("closed after %v", d)
		}
		k.bulkOut.expectEnd()
		h.wantCount(SendTimeout, 1)
	})
}

// TestKeepalive: a silent peer gets a NOOP on our BULK_IN after 30 s and again
// after at least 10 s; one that speaks gets none.
func TestKeepalive(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, k := established(t, Config{})
		begin := time.Now()
		k.bulkOut.expect(noop(0, 1))
		if d := time.Since(begin); d < 30*time.Second || d > 38*time.Second {
			t.Errorf("first keepalive after %v", d)
		}
		begin = time.Now()
		k.bulkOut.expect(noop(0, 1))
		if d := time.Since(begin); d < 10*time.Second || d > 18*time.Second {
			t.Errorf("second keepalive after %v", d)
		}
		for range 10 {
			time.Sleep(5 * time.Second)
			k.control.send(noop(0, 1))
		}
		k.bulkOut.expectOpen(20 * time.Second)
	})
}

func TestNoKeepaliveInVersion2(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newMemNet()
		start(t, "10.0.0.2", n.config(Config{}))
		p := n.connect(t, "10.0.0.1:1023", "10.0.0.2:988")
		p.send(request, inVersion2(helloCtl))
		p.read(56)
		p.expectOpen(5 * time.Minute)
	})
}

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
			for cookie := uint64(2); ; cookie++ {
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

// TestHold: a held message stops its connection and no other, for as long as
// it takes.
func TestHold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{Keepalive: -1})
		held := make(chan *lnd.Delivery, 1)
		h.parse = func(h *host, d *lnd.Delivery) (lnd.Verdict, error) {
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

// TestHoldOfLostPeer: the connection ends while a message is held; Recv then
// gets an error.
func TestHoldOfLostPeer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{})
		held := make(chan *lnd.Delivery, 1)
		h.parse = func(_ *host, d *lnd.Delivery) (lnd.Verdict, error) { held <- d; return lnd.Hold, nil }
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

// TestChoice: small messages and priority on CONTROL, from min_bulk on bulk.
func TestChoice(t *testing.T) {
	const headers = ksock.MsgHeaderSize + wire.HeaderSize
	for _, tt := range []struct {
		name     string
		size     int
		priority bool
		control  bool
	}{
		{"header only", 0, false, true},
		{"1023 bytes", 1023 - headers, false, true},
		{"1024 bytes", 1024 - headers, false, false},
		{"1 MiB", 1 << 20, false, false},
		{"1 MiB priority", 1 << 20, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h, k := established(t, Config{})
				m := newPut(h.id(), probeID, pattern(tt.size))
				m.Priority = tt.priority
				h.ni.Send(m)
				p := k.bulkIn // their BULK_IN is our BULK_OUT
				if tt.control {
					p = k.control
				}
				if got := p.read(headers + tt.size); len(got) != headers+tt.size || !bytes.HasSuffix(got, pattern(tt.size)) {
					t.Errorf("read %d bytes", len(got))
				}
				if err := h.wantFinalized(1)[0]; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestPriorityPasses: in a queue priority messages go first.
func TestPriorityPasses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{})
		var order []uint64
		for i := range uint64(4) {
			m := newPut(h.id(), probeID, pattern(8))
			m.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: i})
			m.Priority = i == 3
			h.ni.Send(m)
			synctest.Wait() // the first is being written
		}
		for range 4 {
			b := k.control.read(24 + 72 + 8)
			order = append(order, binary.LittleEndian.Uint64(b[24+48:]))
		}
		if fmt.Sprint(order) != "[0 3 1 2]" {
			t.Errorf("order %v", order)
		}
	})
}

func TestLargeNIDDoesNotFit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{})
		m := newPut(h.id(), probeID)
		m.Header.DestNID = nid.MustParse("fd88::1@tcp")
		h.ni.Send(m)
		h.put(probeID)
		errs := h.wantFinalized(1)
		if !errors.Is(errs[0], syscall.EINVAL) || !errors.Is(errs[0], wire.ErrLargeNID) {
			t.Errorf("ended with %v", errs[0])
		}
		k.control.read(96)
		h.wantFinalized(2)
	})
}

// TestFailEndsMessages: what is queued, written and received when a connection
// fails ends with an error, once.
func TestFailEndsMessages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{})
		for range 200 { // nobody reads
			h.put(probeID, pattern(100))
		}
		_, _ = k.bulkOut.Write(kernelPut(t, 0, pattern(100))[:130])
		synctest.Wait()
		k.bulkOut.Close()
		for _, err := range h.wantFinalized(200) {
			if !errors.Is(err, syscall.EIO) {
				t.Fatalf("ended with %v", err)
			}
		}
		h.await("Delivered with an error", func() bool { return len(h.broken) == 1 })
	})
}

func TestShutdownDrains(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{})
		for range 100 {
			h.put(probeID, pattern(8))
		}
		done := make(chan error)
		go func() { done <- h.ni.Shutdown(t.Context()) }()
		synctest.Wait()
		h.put(probeID) // too late
		if err := h.wantFinalized(1)[0]; !errors.Is(err, syscall.ESHUTDOWN) {
			t.Errorf("late message ended with %v", err)
		}
		k.control.read(100 * 104)
		if err := <-done; err != nil {
			t.Error(err)
		}
		for _, err := range h.wantFinalized(101)[1:] {
			if err != nil {
				t.Error(err)
			}
		}
		k.control.expectEnd()
	})
}

func TestShutdownGivesUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{})
		h.parse = func(*host, *lnd.Delivery) (lnd.Verdict, error) { return lnd.Hold, nil }
		k.control.send(pingGet) // held until the end
		for range 100 {
			h.put(probeID, pattern(8))
		}
		unreachable := nid.ProcessID{NID: nid.MustParse("10.0.0.77@tcp"), PID: nid.LustrePID}
		k.net.mu.Lock()
		k.net.silent[unreachable.NID.Addr()] = true
		k.net.mu.Unlock()
		h.put(unreachable)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		begin := time.Now()
		if err := h.ni.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown returned %v", err)
		}
		if d := time.Since(begin); d != 3*time.Second {
			t.Errorf("after %v", d)
		}
		for _, err := range h.wantFinalized(101) {
			if !errors.Is(err, syscall.ESHUTDOWN) {
				t.Errorf("ended with %v", err)
			}
		}
	})
}

// TestSendFromFinalize: a handler that sends the next message from the end of
// the last one neither recurses nor deadlocks.
func TestSendFromFinalize(t *testing.T) {
	f := newTCPFabric()
	a := start(t, "127.0.0.1", f.config(Config{}))
	b := start(t, "127.0.0.2", f.config(Config{}))
	const rounds = 20000
	left := rounds
	a.finalized = func(m *lnd.Message, err error) {
		if left--; left > 0 && err == nil {
			a.ni.Send(m)
		}
	}
	b.parse = func(*host, *lnd.Delivery) (lnd.Verdict, error) { return lnd.Accept, nil }
	a.put(b.id(), pattern(8))
	b.await("arrivals", func() bool { return len(b.arrived) == rounds })
}
