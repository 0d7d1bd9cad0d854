package socklnd

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/socklnd/ksock"
)

// TestZeroCopyAcks (SK-12): every cookie is acknowledged once, on the connection of type
// BULK_IN, whether the payload is taken, dropped, truncated or held.
func TestZeroCopyAcks(t *testing.T) {
	spec.Covers(t, "SK-12")
	sinks := map[string]func(*host, *lnd.Delivery) (lnd.Answer, error){
		"taken":   validate,
		"dropped": func(*host, *lnd.Delivery) (lnd.Answer, error) { return lnd.Accept, nil },
		"truncated": func(_ *host, d *lnd.Delivery) (lnd.Answer, error) {
			takeAll(d)
			d.Sink.Length = 5
			return lnd.Accept, nil
		},
		"held": func(h *host, d *lnd.Delivery) (lnd.Answer, error) {
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

// TestAcksWithoutBulkIn: if there is no BULK_IN, the ack goes on CONTROL, the only connection.
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

// TestTooManyAcks: a peer that requests acks and reads none of them cannot use up our memory.
func TestTooManyAcks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{})
		go func() {
			for cookie := uint64(2); ; cookie += 10 { // cookies that cannot be joined in a range
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

// TestAckQueue: the cookies that wait to be acknowledged are merged into the NOOPs that kernels would send for them. A
// cookie that waits already is refused.
func TestAckQueue(t *testing.T) {
	const top = ksock.MaxAckRange
	for _, tt := range []struct {
		name    string
		single  bool // cookies are not joined
		cookies []uint64
		want    ackQueue
		refused []Reason
	}{
		{name: "one", cookies: []uint64{7}, want: ackQueue{{0, 7}}},
		{name: "pair", cookies: []uint64{7, 12}, want: ackQueue{{12, 7}}},
		{name: "pair backwards", cookies: []uint64{12, 7}, want: ackQueue{{12, 7}}},
		{name: "pair far apart and another", cookies: []uint64{7, 12, 8}, want: ackQueue{{12, 7}, {0, 8}}},
		{name: "three in a row", cookies: []uint64{7, 8, 9}, want: ackQueue{{7, 9}}},
		{name: "three in a row, middle last", cookies: []uint64{7, 9, 8}, want: ackQueue{{7, 9}}},
		{name: "three in a row, first last", cookies: []uint64{8, 9, 7}, want: ackQueue{{7, 9}}},
		{name: "neighbours and a stranger", cookies: []uint64{8, 9, 11}, want: ackQueue{{9, 8}, {0, 11}}},
		{name: "range grows at both ends", cookies: []uint64{7, 8, 9, 10, 6, 5}, want: ackQueue{{5, 10}}},
		{name: "range and a stranger", cookies: []uint64{7, 8, 9, 11, 12, 13}, want: ackQueue{{7, 9}, {11, 13}}},
		{name: "the same again", cookies: []uint64{7, 7}, want: ackQueue{{0, 7}}, refused: []Reason{RepeatedCookie}},
		{name: "one of a pair again", cookies: []uint64{7, 12, 7, 12}, want: ackQueue{{12, 7}}, refused: []Reason{RepeatedCookie, RepeatedCookie}},
		{name: "one of a range again", cookies: []uint64{7, 8, 9, 8}, want: ackQueue{{7, 9}}, refused: []Reason{RepeatedCookie}},
		{name: "keepalive gives way", cookies: []uint64{1, 7, 8}, want: ackQueue{{8, 7}}},
		{name: "keepalive behind an ack", cookies: []uint64{7, 1}, want: ackQueue{{0, 7}}},
		{name: "keepalives", cookies: []uint64{1, 1}, want: ackQueue{{0, 1}}},
		{name: "single", single: true, cookies: []uint64{7, 8, 9}, want: ackQueue{{0, 7}, {0, 8}, {0, 9}}},
		{name: "single again", single: true, cookies: []uint64{7, 7}, want: ackQueue{{0, 7}}, refused: []Reason{RepeatedCookie}},
		{name: "largest cookies", cookies: []uint64{1<<64 - 1, 1<<64 - 2, 1<<64 - 3, 2}, want: ackQueue{{1<<64 - 3, 1<<64 - 1}, {0, 2}}},
		{name: "range of bounded length", cookies: span(2, top+3), want: ackQueue{{2, top + 1}, {top + 3, top + 2}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var q ackQueue
			var refused []Reason
			for _, c := range tt.cookies {
				if why := q.add(c, !tt.single); why != ReasonNone {
					refused = append(refused, why)
				}
			}
			if diff := cmp.Diff(tt.want, q); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if !slices.Equal(refused, tt.refused) {
				t.Errorf("refused %v, want %v", refused, tt.refused)
			}
			checkNoops(t, tt.cookies, q)
		})
	}
}

// checkNoops checks that the NOOPs are legal and acknowledge each cookie once.
func checkNoops(t *testing.T, cookies []uint64, q ackQueue) {
	t.Helper()
	var got []uint64
	for _, noop := range q {
		acks, err := ksock.MsgHeader{Type: ksock.Noop, Cookies: noop}.Acks()
		if err != nil {
			t.Fatal(err)
		}
		got = slices.AppendSeq(got, acks.All())
	}
	want := slices.DeleteFunc(slices.Clone(cookies), func(c uint64) bool { return c == ksock.Keepalive })
	slices.Sort(want)
	slices.Sort(got)
	if want = slices.Compact(want); !slices.Equal(got, want) {
		t.Errorf("acknowledges %v, want %v", got, want)
	}
}

// span lists the cookies from first to last.
func span(first, last uint64) (s []uint64) {
	for c := first; c <= last; c++ {
		s = append(s, c)
	}
	return s
}

// TestAckRange: cookies that come while an ack is being written leave together.
func TestAckRange(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, k := established(t, Config{})
		go func() {
			for cookie := uint64(2); cookie < 10; cookie++ {
				_, _ = k.bulkOut.Write(kernelPut(t, cookie, pattern(100)))
			}
		}()
		synctest.Wait() // wait until the first ack is being written, because the peer does not read
		k.bulkOut.expect(noop(0, 2) + noop(3, 9))
		k.bulkOut.expectOpen(time.Second)
	})
}

// TestAckOfVersion2: acks are single, go on CONTROL, and travel with messages
// that wait there.
func TestAckOfVersion2(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newMemNet()
		h := start(t, "10.0.0.2", n.config(Config{}))
		h.parse = validate
		var control, bulk *probe
		for i, c := range []struct {
			to    **probe
			opens string
		}{{&control, helloCtl}, {&bulk, helloOut}} {
			*c.to = n.connect(t, []string{"10.0.0.1:1023", "10.0.0.1:1022"}[i], "10.0.0.2:988")
			(*c.to).send(request, inVersion2(c.opens))
			(*c.to).read(ksock.HelloSize)
		}
		synctest.Wait() // wait until both connections are in use
		h.put(probeID)  // this message is being written
		synctest.Wait()
		for cookie := uint64(2); cookie < 5; cookie++ {
			_, _ = bulk.Write(kernelPut(t, cookie, pattern(2000)))
		}
		h.put(probeID)
		h.put(probeID)
		synctest.Wait()
		var got []uint64
		for range 3 {
			m, _, _ := ksock.ParseMsgHeader(control.read(24+72), false)
			got = append(got, m.Cookies[:]...)
		}
		if want := []uint64{0, 0, 0, 2, 0, 3}; !slices.Equal(got, want) {
			t.Errorf("cookies of the messages %v, want %v", got, want)
		}
		control.expect(noop(0, 4))
		control.expectOpen(time.Second)
		bulk.expectOpen(time.Second)
	})
}

// TestRepeatedCookie: a cookie that comes again before its ack has left is
// acknowledged once.
func TestRepeatedCookie(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{})
		go func() {
			for _, cookie := range []uint64{2, 7, 7} {
				_, _ = k.bulkOut.Write(kernelPut(t, cookie, nil))
			}
		}()
		synctest.Wait()
		k.bulkOut.expect(noop(0, 2) + noop(0, 7))
		k.bulkOut.expectOpen(time.Second)
		h.wantCount(RepeatedCookie, 1)
	})
}
