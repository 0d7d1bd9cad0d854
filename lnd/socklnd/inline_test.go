package socklnd

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// inlineEnd is an outcome of inline messages: how many have left together, or how many have failed,
// and the error.
type inlineEnd struct {
	left int
	lost error
	n    int // number of messages that were lost
}

// inlines plays the part of lnet that posts messages.
type inlines struct {
	*host
	ends  []inlineEnd // guarded by host.mu
	last  []bool      // for each element of ends, whether it ended the last messages of a buffer; guarded by host.mu
	onEnd func()      // called first when ends of messages are reported; nil: no call
	spent bool        // lnet, whose part this plays, has no credit for another buffer
	opens int         // number of buffers that were opened: of messages that were the first one in a buffer
}

func (u *inlines) Left(_ any, list []lnd.Record, to nid.ProcessID, _ time.Duration) {
	u.end(inlineEnd{left: len(list)}, list[len(list)-1].Closes)
	for _, r := range list[:len(list)-1] {
		if r.Closes {
			u.t.Error("a record closes its buffer that is not the last one")
		}
	}
	if to != probeID {
		u.t.Errorf("messages to %v left", to)
	}
}

func (u *inlines) end(e inlineEnd, last bool) {
	if u.onEnd != nil {
		u.onEnd()
	}
	u.change(func() { u.ends, u.last = append(u.ends, e), append(u.last, last) })
}

func (u *inlines) Lost(_ any, r *lnd.Record, _ *wire.Header, _ nid.ProcessID, n int, payload []byte, err error) {
	u.end(inlineEnd{lost: err, n: n}, r.Closes)
	if len(payload) == 0 {
		u.t.Error("the payload of a failed message is gone")
	}
}

// post posts a PUT, and overwrites its payload at once.
func (u *inlines) post(to nid.ProcessID, payload []byte) bool {
	return u.postInline(&lnd.Inline{To: to}, payload)
}

func (u *inlines) postInline(i *lnd.Inline, payload []byte) bool {
	m := newPut(u.id(), i.To, payload)
	i.Header, i.Owner = m.Header, m
	f, taken := u.ni.Post(i, m.Payload, !u.spent)
	if taken && i.Opens {
		u.opens++
	}
	if taken {
		clear(payload)
	}
	if f != nil {
		f.Flush()
	}
	return taken
}

// expectPayload reads a message of the kernel's version and compares its payload.
func (p *probe) expectPayload(want []byte) {
	p.t.Helper()
	f := newFraming(ksock.V3, false)
	if got := p.read(f.wireSize(len(want))); !bytes.HasSuffix(got, want) {
		p.t.Fatalf("got %x, want payload %x", got, want)
	}
}

func postingHost(t *testing.T, tweaks ...func(*lnd.Config)) (*inlines, *kernel) {
	h, k := established(t, Config{Keepalive: -1}, tweaks...)
	u := &inlines{host: h}
	h.ni.up, h.ni.inline = u, u
	return u, k
}

// TestPostBatch: while a write blocks, messages that are posted are copied, and leave with one
// write. Messages that are given to Send after them leave after them.
func TestPostBatch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		u, k := postingHost(t)
		for n := range 5 {
			if !u.post(probeID, pattern(n+1)) {
				t.Fatalf("message %d was not taken", n)
			}
			synctest.Wait()
		}
		if messages, bytes := u.ni.Buffered(probeID); messages != 5 || bytes != 1+2+3+4+5 {
			t.Errorf("%d messages of %d bytes are buffered", messages, bytes)
		}
		u.put(probeID, pattern(6))
		if u.post(probeID, pattern(7)) {
			t.Error("a message overtakes one that waits")
		}
		for n := range 6 {
			k.control.expectPayload(pattern(n + 1))
		}
		u.await("end", func() bool { return len(u.ends) == 2 && len(u.finished) == 1 })
		if u.ends[0] != (inlineEnd{left: 1}) || u.ends[1] != (inlineEnd{left: 4}) {
			t.Errorf("messages ended as %v", u.ends)
		}
		if n := u.ni.Snapshot().Peers[0].Conns[0].QueuedBytes; n != 0 {
			t.Errorf("%d bytes still count as queued", n)
		}
		if messages, bytes := u.ni.Buffered(probeID); messages != 0 || bytes != 0 {
			t.Errorf("%d messages of %d bytes still count as buffered", messages, bytes)
		}
	})
}

// TestPostCut: the connection ends while it takes a batch. The messages that it took whole have
// left; each of the others counts as buffered until it fails. Only the end that is reported last says that
// the buffer closes.
func TestPostCut(t *testing.T) {
	spec.Covers(t, "LN-6")
	bubble(t, func(t *testing.T) {
		u, k := postingHost(t)
		var counts []buffered // at each report of an end: the messages that still count as buffered
		conns := slices.Clone(u.ni.peers.All()[0].conns)
		u.onEnd = func() {
			sum := buffered{}
			for _, c := range conns {
				c.tx.mu.Lock()
				sum.messages += c.tx.buffered.messages
				sum.bytes += c.tx.buffered.bytes
				c.tx.mu.Unlock()
			}
			counts = append(counts, sum)
		}
		u.post(probeID, pattern(1))
		synctest.Wait()
		for range 4 {
			u.post(probeID, pattern(8))
		}
		u.put(probeID, pattern(8))
		k.control.expectPayload(pattern(1))
		k.control.expectPayload(pattern(8))
		k.control.expectPayload(pattern(8))
		k.control.read(50)
		k.control.Close()
		u.await("end", func() bool { return len(u.ends) == 4 && len(u.finished) == 1 })
		if u.ends[0] != (inlineEnd{left: 1}) || u.ends[1] != (inlineEnd{left: 2}) {
			t.Errorf("messages ended as %v", u.ends)
		}
		if want := []buffered{{4, 32}, {2, 16}, {1, 8}, {}}; !slices.Equal(counts, want) || !slices.Equal(u.last, []bool{true, false, false, true}) {
			t.Errorf("at the ends, %v messages were buffered, want %v; the buffer closed: %t", counts, want, u.last)
		}
		for _, err := range []error{u.ends[2].lost, u.ends[3].lost, u.finished[0]} {
			if e, ok := errors.AsType[*Error](err); !ok || e.Reason != PeerClosed && e.Reason != WriteFailed {
				t.Errorf("a message ended with %v", err)
			}
		}
	})
}

// TestPostCopies: an inline message leaves once for itself and once for each of its copies. If the connection
// ends meanwhile, the messages fail that the connection did not take whole.
func TestPostCopies(t *testing.T) {
	spec.Covers(t, "PT-40")
	bubble(t, func(t *testing.T) {
		u, k := postingHost(t)
		u.postInline(&lnd.Inline{To: probeID, Record: lnd.Record{Copies: 2}}, pattern(1))
		synctest.Wait() // the peer does not read: from now on the messages wait
		u.postInline(&lnd.Inline{To: probeID, Record: lnd.Record{Copies: 1}}, pattern(2))
		u.postInline(&lnd.Inline{To: probeID, Record: lnd.Record{Copies: 5}}, pattern(3))
		u.post(probeID, pattern(4))
		for _, n := range []int{1, 1, 1, 2, 2, 3, 3, 3, 3} {
			k.control.expectPayload(pattern(n))
		}
		k.control.read(50)
		sent := uint64(0)
		for _, c := range u.ni.Snapshot().Peers[0].Conns {
			sent += c.TxMessages
		}
		if sent != 3 {
			t.Errorf("%d messages count as sent, want those of the first write", sent)
		}
		k.control.Close()
		u.await("end", func() bool { return len(u.ends) == 4 })
		if u.ends[0] != (inlineEnd{left: 1}) || u.ends[1] != (inlineEnd{left: 1}) || u.ends[2].n != 2 || u.ends[3].n != 1 {
			t.Errorf("messages ended as %v", u.ends)
		}
	})
}

// TestPostBuffers: messages that find no room begin another buffer, as long as there are credits.
// Each buffer leaves with a write of its own, in order.
func TestPostBuffers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		u, k := postingHost(t)
		u.post(probeID, pattern(1))
		synctest.Wait() // the peer does not read: from now on the messages wait
		posted := 0
		for u.opens = 0; u.post(probeID, pattern(800-posted)); posted++ {
			u.spent = u.opens == 3
		}
		if u.opens != 3 || posted < 90 {
			t.Errorf("%d messages in %d buffers", posted, u.opens)
		}
		k.control.expectPayload(pattern(1))
		for n := range posted {
			k.control.expectPayload(pattern(800 - n))
		}
		u.await("end", func() bool { return len(u.ends) == 4 })
		if sum := u.ends[1].left + u.ends[2].left + u.ends[3].left; sum != posted || min(u.ends[1].left, u.ends[2].left) < 30 {
			t.Errorf("%d messages ended as %v", posted, u.ends)
		}
	})
}

// TestPostOneFlow: inline messages that are large enough for the bulk connections share a buffer of one of these
// connections while it has room, and so do not need a credit each.
func TestPostOneFlow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, k := established(t, Config{Keepalive: -1, ConnsPerPeer: 3})
		for port := 1020; port > 1018; port-- {
			p := k.net.connect(t, fmt.Sprintf("10.0.0.1:%d", port), "10.0.0.2:988")
			p.send(request, helloIn)
			p.expect(answerOut)
		}
		synctest.Wait()
		u := &inlines{host: h}
		h.ni.up, h.ni.inline = u, u
		if n := len(u.ni.peers.All()[0].routes.large); n != 3 {
			t.Fatalf("%d bulk connections, want 3", n)
		}
		for range 30 { // the peer does not read, so messages wait in the buffers
			u.spent = true
			if !u.post(probeID, pattern(lnd.MaxInline)) {
				u.spent = false
				u.post(probeID, pattern(lnd.MaxInline))
			}
			synctest.Wait()
		}
		if u.opens != 4 {
			t.Errorf("30 messages opened %d buffers, want one on each idle connection and another", u.opens)
		}
	})
}

// TestPostUrgent: priority messages leave before buffers of inline ones that wait.
func TestPostUrgent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		u, k := postingHost(t)
		before := 0
		// post until our side has buffered messages, because the peer, which does not read, takes no
		// more
		for len(u.ends) == before {
			u.post(probeID, pattern(800))
			synctest.Wait()
			before++
		}
		posted := 0
		for u.opens = 0; u.opens < 3; posted++ {
			u.post(probeID, pattern(800))
		}
		urgent := bytes.Repeat([]byte{0xee}, 9)
		m := newPut(u.id(), probeID, urgent)
		m.Priority = true
		for _, c := range u.ni.peers.All()[0].conns {
			// push is called instead of Send, which might choose another connection, whose buffers are
			// empty
			if c.tx.posted != nil {
				c.peer.mu.Lock()
				u.ni.messages.Begin()
				c.tx.push(m)
				c.peer.mu.Unlock()
			}
		}
		for range before {
			k.control.expectPayload(pattern(800))
		}
		k.control.expectPayload(urgent)
		for range posted {
			k.control.expectPayload(pattern(800))
		}
	})
}

// TestPostRefused: Post takes no message for a peer without a connection, without a credit, or whose
// payload is not as long as its header says. The caller gives such a message to Send.
func TestPostRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		u, _ := postingHost(t)
		stranger := nid.ProcessID{NID: nid.MustParse("10.0.0.77@tcp"), PID: nid.LustrePID}
		if u.post(stranger, pattern(8)) {
			t.Error("a message to a process without a connection was taken")
		}
		u.spent = true
		if u.post(probeID, pattern(8)) {
			t.Error("a message was taken without a credit")
		}
		m := newPut(u.id(), probeID, pattern(8))
		m.Payload.Length = 7
		if _, taken := u.ni.Post(&lnd.Inline{Header: m.Header, To: probeID}, m.Payload, true); taken {
			t.Error("a payload that is not as long as its header says was taken")
		}
	})
}

// TestNoopsHaveRoom: a batch that is full of small messages still has room for as many NOOPs as a
// batch may take.
func TestNoopsHaveRoom(t *testing.T) {
	bubble(t, func(t *testing.T) {
		u, _ := postingHost(t)
		c := u.ni.peers.All()[0].routes.urgent[0]
		for n := range 32 {
			m := newPut(u.id(), probeID, pattern(lnd.MaxInline))
			m.Priority = true
			u.ni.Send(m)
			if n == 0 {
				synctest.Wait() // the peer does not read: from now on the messages wait
			}
		}
		c.peer.mu.Lock()
		for i := range uint64(maxBatchNoops) {
			if _, why := c.tx.pushNoop(i*3 + 10); why != ReasonNone { // cookies that do not merge into a pair or a range
				t.Error(why)
			}
		}
		c.peer.mu.Unlock()
		b := c.tx.next()
		if len(b.messages) < 20 || b.whole > batchMemory || len(c.tx.acks) > 0 {
			t.Errorf("%d messages, %d bytes, %d NOOPs are left", len(b.messages), b.whole, len(c.tx.acks))
		}
		c.tx.finish(b, nil)
	})
}

// TestPostEncodes: in each version, with and without checksums, batch.post encodes each message as
// appendHeaders does, although it copies the fields that are the same as in the header before.
func TestPostEncodes(t *testing.T) {
	u := start(t, "10.0.0.2", newMemNet().config(Config{}))
	for _, v := range []ksock.Version{ksock.V1, ksock.V2, ksock.V3, ksock.V4} {
		for _, sums := range []bool{false, true} {
			c := &conn{peer: &peer{ni: u.ni}, framing: newFraming(v, sums)}
			var headers []wire.Header
			for n := range 6 {
				headers = append(headers, newPut(u.id(), probeID, pattern(n)).Header)
			}
			headers[2].DestPID++
			headers[3].SrcNID = nid.MustParse("10.0.0.9@tcp")
			headers[4].SetAck(wire.AckCmd{MatchBits: 7})
			headers[4].PayloadLength = 0
			var b batch
			var want []byte
			for n, h := range headers {
				payload := pattern(int(h.PayloadLength))
				if _, ok := b.post(&lnd.Inline{Header: h, Record: lnd.Record{Copies: int32(n % 3)}}, lnd.Payload{Segments: []lnd.Segment{payload}, Length: len(payload)}, c); !ok {
					t.Fatal("a message was refused")
				}
				dst, err := c.framing.appendHeaders(nil, &h, 0)
				if err != nil {
					t.Fatal(err)
				}
				if dst = append(dst, payload...); c.framing.sums {
					u.ni.seal(dst)
				}
				want = append(want, bytes.Repeat(dst, 1+n%3)...)
			}
			if got := b.bytes[:b.used]; !bytes.Equal(got, want) {
				t.Errorf("version %v, checksums %t: got\n%x, want\n%x", v, sums, got, want)
			}
		}
	}
}

// TestPostAnswers: lazy inline messages that handlers post while the reader handles a batch of
// received messages leave with one write at the end of that batch. They leave before its end if a
// handler sends a message through the queue, or posts one that is not lazy, or takes long.
func TestPostAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		least, most int            // smallest and largest number of answers that may leave with the first write
		others      int            // number of messages that the third handler call sends besides its answer
		third       func(*inlines) // what the third handler call does after it has posted its answer
	}{
		"lazy":          {5, 5, 0, func(*inlines) {}},
		"then another":  {3, 3, 1, func(u *inlines) { u.put(probeID, pattern(8)) }},
		"then not lazy": {4, 6, 1, func(u *inlines) { u.post(probeID, pattern(8)) }},
		"then slow":     {4, 4, 1, postAndWait},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				u, k := postingHost(t)
				came := 0
				u.delivered = func(*lnd.Delivery) {
					u.postInline(&lnd.Inline{To: probeID, Lazy: true}, pattern(8))
					if came++; came == 3 {
						c.third(u)
					}
				}
				var stream []byte
				for range 5 {
					stream = append(stream, kernelPut(t, 0, pattern(8))...)
				}
				_, _ = k.control.Write(stream)
				for n := 0; n < 5+c.others; n++ {
					k.control.expectPayload(pattern(8))
				}
				synctest.Wait()
				if len(u.ends) == 0 || u.ends[0].left < c.least || u.ends[0].left > c.most {
					t.Errorf("answers ended as %v, want %d to %d together first", u.ends, c.least, c.most)
				}
				if u.ni.peers.All()[0].conns[0].tx.busy() {
					t.Error("the connection is still busy")
				}
			})
		})
	}
}

// postAndWait is a handler that posts a message and then takes a second. The message must leave
// before the handler returns.
func postAndWait(u *inlines) {
	u.post(probeID, pattern(8))
	time.Sleep(time.Second)
	u.change(func() {
		if len(u.ends) == 0 {
			u.t.Error("a message waits for the end of a handler")
		}
	})
}
