package socklnd

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ulnet/lnd/lndtest/spec"
)

// TestReservedPorts (SK-2): without the right to reserved ports a dial fails. In mode trust, and
// with an unprivileged accept port, the NI dials from a port above 1023 instead.
func TestReservedPorts(t *testing.T) {
	spec.Covers(t, "SK-2")
	for _, tt := range []struct {
		name string
		cfg  Config
		why  Reason
	}{
		{name: "secure", cfg: Config{}, why: NoReservedPort},
		{name: "all", cfg: Config{Accept: AcceptAll}, why: NoReservedPort},
		{name: "trust", cfg: Config{Accept: AcceptTrust}},
		{name: "unprivileged accept port", cfg: Config{AcceptPort: 9988}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				n := newMemNet()
				n.denied = true
				h := start(t, "10.0.0.2", n.config(tt.cfg))
				l, _ := n.listen(netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), cmp.Or(tt.cfg.AcceptPort, 988)))
				h.put(probeID)
				if tt.why == ReasonNone {
					l.(*memListener).answered(t, dialCtl, replyCtl).read(96)
					if port := n.ports()[0]; port <= maxPrivilegedPort {
						t.Errorf("dialled from port %d", port)
					}
					return
				}
				err := h.wantFinalized(1)[0]
				if !errors.Is(err, syscall.EACCES) || !strings.Contains(err.Error(), "CAP_NET_BIND_SERVICE") {
					t.Errorf("message ended with %v", err)
				}
				if errors.Is(err, syscall.EHOSTUNREACH) {
					t.Errorf("status of %v is not EACCES", err)
				}
				h.wantCount(tt.why, 1)
			})
		})
	}
}

// TestPortsInUse: a port that is taken for this peer is passed over.
func TestPortsInUse(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, l := dialScene(t, Config{})
		remote := netip.MustParseAddrPort("10.0.0.1:988")
		for _, port := range []uint16{1023, 1022, 1020} {
			l.net.take(netip.AddrPortFrom(h.ni.addr, port), remote)
		}
		h.put(probeID)
		l.answered(t, dialCtl, replyCtl).read(96)
		l.answered(t, dialIn, replyOut)
		if got := l.net.ports()[:2]; !slices.Equal(got, []uint16{1021, 1019}) {
			t.Errorf("source ports %v", got)
		}
	})
}

// TestNoFreePort: when all reserved ports are taken the reported status says so.
func TestNoFreePort(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h, l := dialScene(t, Config{})
		remote := netip.MustParseAddrPort("10.0.0.1:988")
		for port := uint16(lastSourcePort); port <= firstSourcePort; port++ {
			l.net.take(netip.AddrPortFrom(h.ni.addr, port), remote)
		}
		h.put(probeID)
		if err := h.wantFinalized(1)[0]; !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("message ended with %v", err)
		}
		h.wantCount(NoFreePort, 1)
	})
}

// TestLocalAddressGone: no other port is tried from an address that is no
// longer there, and the cause is reported.
func TestLocalAddressGone(t *testing.T) {
	dials := 0
	a := start(t, "127.0.0.1", newTCPFabric().config(Config{}))
	a.ni.cfg.Dial = func(ctx context.Context, _, remote netip.AddrPort) (net.Conn, error) {
		dials++
		tcp := Config{}.withDefaults().forNI(netip.Addr{}, 0) // no host has 192.0.2.1 (RFC 5737)
		return tcp.Dial(ctx, netip.MustParseAddrPort("192.0.2.1:0"), remote)
	}
	_, why, err := a.ni.connect(t.Context(), netip.MustParseAddrPort("127.0.0.2:1"))
	if dials != 1 || why != ConnectFailed || !errors.Is(err, syscall.EADDRNOTAVAIL) {
		t.Errorf("%d dials, %v, %v; want 1, %v, EADDRNOTAVAIL", dials, why, err, ConnectFailed)
	}
}

// TestConnectForbidden: if the system forbids connect, but not bind, the NI tries no other port, and the error does not
// ask for the permission to use reserved ports.
func TestConnectForbidden(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EACCES, syscall.EPERM} {
		dials := 0
		a := start(t, "127.0.0.1", newTCPFabric().config(Config{}))
		a.ni.cfg.Accept, a.ni.cfg.AcceptPort = AcceptSecure, 988 // so that no dial from other ports follows
		a.ni.cfg.Dial = func(context.Context, netip.AddrPort, netip.AddrPort) (net.Conn, error) {
			dials++
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", errno)}
		}
		_, why, err := a.ni.connect(t.Context(), netip.MustParseAddrPort("127.0.0.2:1"))
		if dials != 1 || why != ConnectFailed || !errors.Is(err, errno) || strings.Contains(err.Error(), "CAP_NET_BIND_SERVICE") {
			t.Errorf("%v: %d dials, %v, %v; want 1, %v, the error alone", errno, dials, why, err, ConnectFailed)
		}
	}
}
