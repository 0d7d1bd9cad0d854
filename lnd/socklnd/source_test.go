package socklnd

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// openingOf returns acceptor request and HELLO of a node that calls itself src, in hex.
func openingOf(t *testing.T, v ksock.Version, src, dst nid.NID) string {
	t.Helper()
	b, err := wire.NewAcceptorRequest(dst).AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	h := ksock.Hello{Version: v, SrcNID: src, DstNID: dst, SrcPID: nid.LustrePID, SrcIncarnation: 7, ConnType: ksock.Control}
	if b, err = h.AppendBinary(b); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", b)
}

// checkRefused dials from the address from and sends opening. It checks that the host answers only by
// closing the connection, that it counts the reason why, and that it has no new peer.
func checkRefused(t *testing.T, n *memNet, h *host, from, opening string, why Reason) {
	t.Helper()
	before := h.ni.counts[why].Load()
	peers := len(h.ni.Snapshot().Peers)
	p := n.connect(t, from, addrText(h.ni.addr.String(), int(h.ni.cfg.AcceptPort)))
	go p.send(opening)
	if after := p.expectEnd(); after != 0 {
		t.Errorf("closed after %v", after)
	}
	synctest.Wait()
	h.wantCount(why, before+1)
	if got := len(h.ni.Snapshot().Peers); got != peers {
		t.Errorf("%d peers, had %d", got, peers)
	}
}

// TestHelloOfAnotherNet (SK-24): a HELLO from another net than the NI's is refused in every
// version, without an answer, also where source_address is off, and makes no peer.
func TestHelloOfAnotherNet(t *testing.T) {
	spec.Covers(t, "SK-24")
	foreign := []nid.NID{
		nid.MustParse("10.0.0.1@tcp5"), nid.MustParse("10.0.0.1@o2ib"), nid.Lo0(), nid.MustParse("7@gni"),
		nid.MustParse("a000001@<17:0>"), nid.MustParse("a000001@<200:65535>"), nid.MustParse("7@<9:1>"),
	}
	large := append(slices.Clone(foreign), nid.MustParse("fd88::1@tcp5"), nid.MustParse("1:2:3:4@<200:0>"), nid.MustParse("1:200/7@<17:3>"))
	for v, sources := range map[ksock.Version][]nid.NID{ksock.V1: foreign, ksock.V2: foreign, ksock.V3: foreign, ksock.V4: large} {
		for _, src := range sources {
			t.Run(fmt.Sprintf("%v %v", v, src), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					n := newMemNet()
					h := start(t, "10.0.0.2", n.config(Config{SourceAddress: SourceAddressOff}))
					checkRefused(t, n, h, "10.0.0.1:1000", openingOf(t, v, src, h.ni.nid), HelloNet)
					goodPeer(t, n, h)
				})
			})
		}
	}
}

// TestHelloWithoutAddress: a HELLO is refused if its NID is on the NI's net but has no IP address, or
// is the NI's own NID: no other node can have such a NID.
func TestHelloWithoutAddress(t *testing.T) {
	for _, src := range []string{"1:200/7@<2:0>", "1:2:3@<2:0>", "10.0.0.2@tcp"} {
		bubble(t, func(t *testing.T) {
			n := newMemNet()
			h := start(t, "10.0.0.2", n.config(Config{SourceAddress: SourceAddressOff}))
			checkRefused(t, n, h, "10.0.0.1:1000", openingOf(t, ksock.V4, nid.MustParse(src), h.ni.nid), HelloSource)
		})
	}
}

// TestSourceAddress (SK-25): a HELLO whose NID has another address than the connection is
// refused from any port; the node that has the NID keeps its connections.
func TestSourceAddress(t *testing.T) {
	spec.Covers(t, "SK-25")
	for _, tt := range []struct {
		name, from, source string
		version            ksock.Version
		mode               AcceptMode
	}{
		{"privileged port", "10.0.0.9:1000", "10.0.0.1@tcp", ksock.V3, AcceptSecure},
		{"version 1", "10.0.0.9:1000", "10.0.0.1@tcp", ksock.V1, AcceptSecure},
		{"version 2", "10.0.0.9:1000", "10.0.0.1@tcp", ksock.V2, AcceptSecure},
		{"version 4", "10.0.0.9:1000", "10.0.0.1@tcp", ksock.V4, AcceptSecure},
		{"privileged port among all", "10.0.0.9:1000", "10.0.0.1@tcp", ksock.V3, AcceptAll},
		{"trusted port", "10.0.0.9:40000", "10.0.0.1@tcp", ksock.V3, AcceptTrust},
		{"large NID", "10.0.0.9:1000", "fd88::1@tcp", ksock.V4, AcceptSecure},
		{"own address as IPv6", "10.0.0.9:1000", "::ffff:10.0.0.9@tcp", ksock.V4, AcceptSecure},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				n := newMemNet()
				h := start(t, "10.0.0.2", n.config(Config{Accept: tt.mode}))
				goodPeer(t, n, h)
				checkRefused(t, n, h, tt.from, openingOf(t, tt.version, nid.MustParse(tt.source), h.ni.nid), HelloAddress)
				if h.conns() != 1 {
					t.Errorf("%d connections of the honest peer, want 1", h.conns())
				}
			})
		})
	}
}

// TestSourceAddress6 does what TestSourceAddress does on an IPv6 NI, with a good peer of its own.
func TestSourceAddress6(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newMemNet()
		h := start(t, "fd88::2", n.config(Config{}))
		claim := openingOf(t, ksock.V4, nid.MustParse("fd88::1@tcp"), h.ni.nid)
		checkRefused(t, n, h, "[fd88::9]:1000", claim, HelloAddress)
		p := n.connect(t, "[fd88::1]:1000", "[fd88::2]:988")
		go p.send(claim)
		if got := len(p.read(ksock.HelloV4Size)); got != ksock.HelloV4Size {
			t.Errorf("answer of %d bytes", got)
		}
		p.expectOpen(time.Second)
	})
}

// TestSourceAddressOff: with source_address off a NID of the net is believed from any address, as
// by kernels.
func TestSourceAddressOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newMemNet()
		h := start(t, "10.0.0.2", n.config(Config{SourceAddress: SourceAddressOff}))
		if got := h.ni.Snapshot().SourceAddress; got != SourceAddressOff {
			t.Errorf("snapshot says %q", got)
		}
		p := n.connect(t, "10.0.0.9:1000", "10.0.0.2:988")
		go p.send(request, helloCtl)
		p.expect(answerCtl)
		h.await("PeerUp", func() bool { return slices.Equal(h.ups, []nid.ProcessID{probeID}) })
	})
}

// TestSourceAddressOfRenamed: a peer that dials from a port above 1023 gets an NID made of its
// address, so the NID in its HELLO is not checked. A peer that dials from a reserved port is checked,
// even if the PID in its HELLO claims that it is a process in userspace.
func TestSourceAddressOfRenamed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newMemNet()
		h := start(t, "10.0.0.2", n.config(Config{Accept: AcceptAll}))
		for i, src := range []string{"10.0.0.1@tcp", "10.0.0.1@o2ib7", "a000001@<17:0>", "10.0.0.2@tcp"} {
			p := n.connect(t, fmt.Sprintf("10.0.0.9:%d", 50000+i), "10.0.0.2:988")
			go p.send(openingOf(t, ksock.V3, nid.MustParse(src), h.ni.nid))
			if got := len(p.read(ksock.HelloSize)); got != ksock.HelloSize {
				t.Errorf("%v: answer of %d bytes", src, got)
			}
		}
		for _, p := range h.ni.Snapshot().Peers {
			if p.ID.NID != nid.MustParse("10.0.0.9@tcp") || p.ID.PID&nid.UserPID == 0 {
				t.Errorf("peer %v", p.ID)
			}
		}
		flagged := strings.Replace(helloCtl, "39300000", "01000080", 1)
		checkRefused(t, n, h, "10.0.0.9:1000", request+flagged, HelloAddress)
	})
}

// TestSourceAddressIsLogged: the warning about a refusal advises what to do, and is logged
// once for each address.
func TestSourceAddressIsLogged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newMemNet()
		var lines bytes.Buffer
		h := start(t, "10.0.0.2", n.config(Config{}), func(c *lnd.Config) { c.Log = slog.New(slog.NewTextHandler(&lines, nil)) })
		for i := range 5 {
			checkRefused(t, n, h, fmt.Sprintf("10.0.0.9:%d", 900+i), openingOf(t, ksock.V3, nid.MustParse("10.0.0.1@tcp"), h.ni.nid), HelloAddress)
		}
		h.stop()
		if got := strings.Count(lines.String(), "hello_address"); got != 1 {
			t.Errorf("logged %d times", got)
		}
		for _, want := range []string{"10.0.0.9", "10.0.0.1@tcp", "source_address: off"} {
			if !strings.Contains(lines.String(), want) {
				t.Errorf("the log does not say %q:\n%s", want, lines.String())
			}
		}
	})
}

// TestDialsFromOwnAddress: an NI dials from the address of its NID, also without a reserved
// port, because its peers check that address.
func TestDialsFromOwnAddress(t *testing.T) {
	for _, addrs := range [][2]string{{"10.0.0.1", "10.0.0.2"}, {"fd88::1", "fd88::2"}} {
		for _, denied := range []bool{false, true} {
			bubble(t, func(t *testing.T) {
				n := newMemNet()
				n.denied = denied
				a := start(t, addrs[0], n.config(Config{AcceptPort: 9988}))
				b := start(t, addrs[1], n.config(Config{AcceptPort: 9988}))
				a.put(b.id(), pattern(8))
				b.wantArrivals(1)
				synctest.Wait() // wait until all connections are established
				n.mu.Lock()
				defer n.mu.Unlock()
				for _, local := range n.dials {
					if local.Addr() != a.ni.addr || denied && local.Port() <= maxPrivilegedPort {
						t.Errorf("dialled from %v", local)
					}
				}
			})
		}
	}
}
