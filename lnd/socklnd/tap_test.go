package socklnd

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"ulnet/lnd"
)

// recordingTap keeps all bytes of all connections.
type recordingTap struct {
	mu    sync.Mutex
	flows []*recordedFlow
}

type recordedFlow struct {
	tap            *recordingTap
	local, remote  netip.AddrPort
	dialled        bool
	sent, received bytes.Buffer
	closed         int
}

func (r *recordingTap) Flow(local, remote netip.AddrPort, dialled bool) lnd.Flow {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := &recordedFlow{tap: r, local: local, remote: remote, dialled: dialled}
	r.flows = append(r.flows, f)
	return f
}

func (f *recordedFlow) note(change func()) {
	f.tap.mu.Lock()
	defer f.tap.mu.Unlock()
	change()
}

func (f *recordedFlow) Sent(b []byte)     { f.note(func() { f.sent.Write(b) }) }
func (f *recordedFlow) Received(b []byte) { f.note(func() { f.received.Write(b) }) }
func (f *recordedFlow) Close()            { f.note(func() { f.closed++ }) }

// TestTap: the taps of both ends see the same bytes, from the first byte on, also of connections
// that are refused.
func TestTap(t *testing.T) {
	for _, fabric := range []string{"memory", "tcp"} {
		t.Run(fabric, func(t *testing.T) {
			if fabric == "memory" {
				bubble(t, func(t *testing.T) { checkTap(t, newMemNet().config, "10.0.0.1", "10.0.0.2") })
				return
			}
			checkTap(t, newTCPFabric().config, "127.0.0.1", "127.0.0.2")
		})
	}
}

func checkTap(t *testing.T, config func(Config) Config, addrs ...string) {
	var taps [2]recordingTap
	var hosts [2]*host
	for i, addr := range addrs {
		hosts[i] = start(t, addr, config(Config{}), func(c *lnd.Config) { c.Tap = &taps[i] })
	}
	for i, size := range []int{0, 8, 5000, 200000} {
		hosts[0].put(hosts[1].id(), pattern(size))
		hosts[1].wantArrivals(i + 1)
		hosts[1].put(hosts[0].id(), pattern(size))
		hosts[0].wantArrivals(i + 1)
	}
	sent := 4
	for ; hosts[0].conns()+hosts[1].conns() < 6; sent++ {
		hosts[0].put(hosts[1].id())
		hosts[1].wantArrivals(sent + 1)
	}
	hosts[0].wantFinalized(sent)
	hosts[1].wantFinalized(4)
	for _, h := range hosts {
		h.stop()
	}
	if fmt.Sprint(len(taps[0].flows), len(taps[1].flows)) != "3 3" {
		t.Fatalf("%d and %d flows, want 3 each", len(taps[0].flows), len(taps[1].flows))
	}
	for i, a := range taps[0].flows {
		b := taps[1].flows[i]
		if !bytes.Equal(a.sent.Bytes(), b.received.Bytes()) || !bytes.Equal(b.sent.Bytes(), a.received.Bytes()) {
			t.Errorf("flow %d: the two ends differ: %d→%d, %d←%d bytes", i,
				a.sent.Len(), b.received.Len(), a.received.Len(), b.sent.Len())
		}
		if a.local != b.remote || !a.dialled || b.dialled {
			t.Errorf("flow %d: %v %v, %v %v", i, a.local, a.dialled, b.remote, b.dialled)
		}
		if a.closed != 1 || b.closed != 1 {
			t.Errorf("flow %d: closed %d and %d times", i, a.closed, b.closed)
		}
		if begin := a.sent.Bytes()[:4]; !bytes.Equal(begin, []byte{0x00, 0x71, 0xce, 0xac}) {
			t.Errorf("flow %d begins with %x", i, begin)
		}
	}
}

func TestTapOfRefusals(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newMemNet()
		var tap recordingTap
		start(t, "10.0.0.2", n.config(Config{}), func(c *lnd.Config) { c.Tap = &tap })
		p := n.connect(t, "10.0.0.1:1023", "10.0.0.2:988")
		p.send("0071ceac 07000000")
		p.expect(acceptorRefused)
		p.expectEnd()
		synctest.Wait()
		f := tap.flows[0]
		if f.received.Len() != 8 || f.sent.Len() != 16 || f.closed != 1 {
			t.Errorf("received %d, sent %d bytes, closed %d times", f.received.Len(), f.sent.Len(), f.closed)
		}
	})
}

// TestTapOfFailed: a connection fails while a buffer of messages is written, and more buffers wait. These
// never leave, and so the capture does not show them.
func TestTapOfFailed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var tap recordingTap
		u, k := postingHost(t, func(c *lnd.Config) { c.Tap = &tap })
		u.post(probeID, pattern(1))
		synctest.Wait() // the peer does not read: from now on the messages wait
		for u.opens = 0; u.post(probeID, pattern(800)); {
			u.spent = u.opens == 3
		}
		k.control.expectPayload(pattern(1))
		k.control.read(50)
		synctest.Wait()
		sent := func() (n int) {
			for _, f := range tap.flows {
				n += f.sent.Len()
			}
			return n
		}
		before := sent()
		k.control.Close()
		u.await("the end", func() bool { return slices.Contains(u.last, true) && len(u.downs) == 1 })
		synctest.Wait()
		if now := sent(); now != before {
			t.Errorf("%d bytes are shown after the end of the connection", now-before)
		}
	})
}
