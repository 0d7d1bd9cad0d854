package socklnd

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/effort"
)

// claims returns, in hex, the HELLO of a kernel with the i-th of many addresses in 10.0.0.0/8.
// Tests send these HELLOs from one address, which needs source_address: off.
func claims(i int) string {
	var addr [4]byte
	binary.LittleEndian.PutUint32(addr[:], 0x0a400000+uint32(i))
	return strings.Replace(helloCtl, "0100000a00000200", fmt.Sprintf("%x00000200", addr), 1)
}

// crowd opens count connections from 10.0.0.host to 10.0.0.2, each with a HELLO of its own, and returns those that
// were accepted.
func crowd(t *testing.T, n *memNet, host int, count int) (in []*probe) {
	t.Helper()
	for i := range count {
		p := n.connect(t, fmt.Sprintf("10.0.0.%d:%d", host, 10_000+i), "10.0.0.2:988")
		go p.send(request, claims(host<<16+i))
		if len(p.read(56)) == 56 {
			in = append(in, p)
		}
	}
	return in
}

// TestTenThousandConnections: one address gets a limited number of connections, whatever
// names their HELLOs give. Established connections, and those from reserved ports of the same
// address, are not affected. Only a long run makes ten thousand.
func TestTenThousandConnections(t *testing.T) {
	for name, cfg := range map[string]Config{
		"all":     {Accept: AcceptAll, SourceAddress: SourceAddressOff},
		"trust":   {Accept: AcceptTrust, SourceAddress: SourceAddressOff},
		"limited": {Accept: AcceptTrust, SourceAddress: SourceAddressOff, MaxConnsPerAddr: 5},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				many := effort.Of(1500, 3000, 10_000)
				n := newMemNet()
				var log strings.Builder
				h := start(t, "10.0.0.2", n.config(cfg), func(c *lnd.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
				good := n.connect(t, "10.0.0.1:1023", "10.0.0.2:988")
				go good.send(request, helloCtl)
				good.expect(answerCtl)

				limit := cmp.Or(cfg.MaxConnsPerAddr, 1024)
				if in := crowd(t, n, 9, many); len(in) != limit {
					t.Errorf("%d connections let in, want %d", len(in), limit)
				}
				h.wantCount(AddressLimit, uint64(many-limit))
				if want := fmt.Sprintf("reason=address_limit from=10.0.0.9:%d err=\"%d connections from this address are open", 10_000+limit, limit); strings.Count(log.String(), want) != 1 {
					t.Errorf("log lacks %s:\n%s", want, log.String())
				}
				if s := h.ni.Snapshot(); s.Accepted != limit+1 || len(s.Peers) != limit+1 || s.Handshakes != 0 {
					t.Errorf("%d connections, %d peers, %d handshakes; want %d, %[4]d, 0", s.Accepted, len(s.Peers), s.Handshakes, limit+1)
				}
				go good.send(pingGet)
				h.wantArrivals(1)
				neighbour := n.connect(t, "10.0.0.9:1023", "10.0.0.2:988")
				go neighbour.send(request, claims(20_000))
				if len(neighbour.read(56)) != 56 {
					t.Error("the root of that host was not let in")
				}
			})
		})
	}
}

// TestConnLimit: the number of all accepted connections is bounded; when one
// ends there is room for another.
func TestConnLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newMemNet()
		h := start(t, "10.0.0.2", n.config(Config{Accept: AcceptTrust, SourceAddress: SourceAddressOff, MaxConns: 20}))
		in := append(crowd(t, n, 9, 10), crowd(t, n, 8, 40)...)
		if len(in) != 20 {
			t.Errorf("%d connections let in, want 20", len(in))
		}
		h.wantCount(ConnLimit, 30)
		refused := n.connect(t, "10.0.0.1:1023", "10.0.0.2:988")
		refused.expectEnd()
		h.wantCount(ConnLimit, 31)
		in[7].Close()
		synctest.Wait()
		goodPeer(t, n, h)
	})
}

// TestConnsOfFewAddresses: a few addresses that open as many connections as they can do not keep others out. Half of
// max_conns is for addresses with few connections.
func TestConnsOfFewAddresses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const most = 400
		n := newMemNet()
		var log strings.Builder
		cfg := Config{Accept: AcceptTrust, SourceAddress: SourceAddressOff, MaxConns: most, MaxConnsPerAddr: 150}
		h := start(t, "10.0.0.2", n.config(cfg), func(c *lnd.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		want := []int{150, most/2 - 150, fewConns, fewConns}
		for i, host := range []int{9, 8, 7, 6} {
			if in := crowd(t, n, host, 160); len(in) != want[i] {
				t.Errorf("host %d: %d connections let in, want %d", i, len(in), want[i])
			}
		}
		if want := "reason=connection_limit from=10.0.0.8:10050 err=\"200 connections are open, and the rest of max_conns is for addresses with fewer than 16\""; !strings.Contains(log.String(), want) {
			t.Errorf("log lacks %s:\n%s", want, log.String())
		}
		goodPeer(t, n, h)
	})
}

// TestFewConns: how many connections the second half of max_conns leaves to each address.
func TestFewConns(t *testing.T) {
	for most, want := range map[int]int{1: fewConns, 20: fewConns, 32768: 32, 65536: 64, 1 << 20: 1024} {
		if got := (&slots{max: most}).few(); got != want {
			t.Errorf("max_conns %d: %d, want %d", most, got, want)
		}
	}
}

// TestManyConnectionsOfOnePeer: the limits leave room for the largest number of connections of a peer
// that Lustre's tools can configure.
func TestManyConnectionsOfOnePeer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newMemNet()
		cfg := n.config(Config{ConnsPerPeer: maxConnsPerPeer})
		a, b := start(t, "10.0.0.2", cfg), start(t, "10.0.0.3", cfg)
		a.put(b.id(), pattern(8))
		b.wantArrivals(1)
		synctest.Wait()
		if a.conns() != 1+2*maxConnsPerPeer || b.conns() != a.conns() {
			t.Errorf("%d and %d connections, want %d", a.conns(), b.conns(), 1+2*maxConnsPerPeer)
		}
		b.wantCount(AddressLimit, 0)
	})
}

// TestFiveThousandPeers: the limits also leave room for as many peers as a server may have: 1000,
// and 5000 in a long run.
func TestFiveThousandPeers(t *testing.T) {
	if effort.Race {
		t.Skip("takes long under the race detector, and shows it nothing new")
	}
	bubble(t, func(t *testing.T) {
		peers := effort.Of(1000, 1000, 5000)
		n := newMemNet()
		h := start(t, "10.0.0.2", n.config(Config{}))
		for i := range peers {
			for port, open := range []string{helloCtl, helloIn, helloOut} {
				addr := fmt.Sprintf("10.1.%d.%d", i>>8, i&0xff)
				p := n.connect(t, fmt.Sprintf("%s:%d", addr, 1000+port), "10.0.0.2:988")
				id := fmt.Sprintf("%02x%02x010a00000200", i&0xff, i>>8)
				go p.send(request, strings.Replace(open, "0100000a00000200", id, 1))
				p.read(56)
			}
		}
		synctest.Wait()
		if s := h.ni.Snapshot(); s.Accepted != 3*peers || len(s.Peers) != peers {
			t.Errorf("%d connections of %d peers, want %d of %d", s.Accepted, len(s.Peers), 3*peers, peers)
		}
		goodPeer(t, n, h)
	})
}

// TestConnectsAndResets: connections end at every stage of the opening, as fast as they can be
// made. Nothing of them is left, not even until the next scan.
func TestConnectsAndResets(t *testing.T) {
	// lengths at which the client breaks off: within the request, the HELLO, and the ping
	cuts := []int{0, 7, 16, 50, 72, 72, 72 + 60}
	bubble(t, func(t *testing.T) {
		n := newMemNet()
		h := start(t, "10.0.0.2", n.config(Config{Accept: AcceptTrust, SourceAddress: SourceAddressOff}))
		goodPeer(t, n, h)
		for i := range effort.Of(500, 2000, 5000) {
			p := n.connect(t, fmt.Sprintf("10.0.0.9:%d", 10_000+i), "10.0.0.2:988")
			send := unhex(t, request+claims(i)+pingGet)[:cuts[i%len(cuts)]]
			_, _ = p.Write(send[:min(len(send), 72)])
			// in these rounds the client reads the answer to its HELLO, and then sends the rest:
			// nothing, or the first 60 bytes of the ping
			if i%len(cuts) > 4 {
				p.read(56)
				_, _ = p.Write(send[72:])
			}
			_ = p.Close()
		}
		synctest.Wait()
		s := h.ni.Snapshot()
		if s.Accepted != 1 || len(s.Peers) != 1 || s.Handshakes != 0 {
			t.Errorf("%d connections, %d peers, %d handshakes; want those of the good peer alone", s.Accepted, len(s.Peers), s.Handshakes)
		}
		if got := len(h.ni.acceptor.slots.perOrigin); got != 1 {
			t.Errorf("%d addresses remembered", got)
		}
		if len(h.downs) == 0 || len(h.downs) != len(h.ups)-1 {
			t.Errorf("%d peers came, %d went", len(h.ups), len(h.downs))
		}
	})
}

// TestResetsOverTCP does the same as TestConnectsAndResets on sockets, where the other end resets
// the connection instead of closing it, beside a peer that is not disturbed.
func TestResetsOverTCP(t *testing.T) {
	f := newTCPFabric()
	a, b := start(t, "127.0.0.1", f.config(Config{})), start(t, "127.0.0.2", f.config(Config{SourceAddress: SourceAddressOff}))
	to := f.real(b.ni.addr).String()
	cuts := []int{0, 7, 16, 50, 72}
	opening := func(i int) []byte {
		toB := strings.NewReplacer("0200000a00000200", "0200007f00000200")
		return unhex(t, toB.Replace(request+claims(i)))
	}
	conns := effort.Of(400, 1000, 1000)
	for i := range conns {
		c, err := net.Dial("tcp", to)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write(opening(i)[:cuts[i%len(cuts)]])
		if cuts[i%len(cuts)] == 72 && i%2 == 0 {
			_, _ = io.ReadFull(c, make([]byte, 56))
		}
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
		if i%50 == 0 {
			a.put(b.id(), pattern(2000))
			b.wantArrivals(i/50 + 1)
		}
	}
	for begin := time.Now(); ; runtime.Gosched() { // no event tells that the last connection is gone, so poll
		s := b.ni.Snapshot()
		if s.Accepted == 3 && len(s.Peers) == 1 && s.Handshakes == 0 {
			break
		}
		if time.Since(begin) > b.patience {
			t.Fatalf("%d connections, %d peers, %d handshakes; want 3, 1, 0", s.Accepted, len(s.Peers), s.Handshakes)
		}
	}
	b.await("peers that came", func() bool { return len(b.ups) > conns/10 })
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.downs) > 0 {
		t.Errorf("the good peer lost its connections: %v", a.downs)
	}
}
