package loopback_test

import (
	"net"
	"net/netip"
	"testing"

	"ulnet/lnd/lndtest/loopback"
)

func TestFreePort(t *testing.T) {
	a, b := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")
	port, err := loopback.FreePort(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if port < 1024 {
		t.Errorf("port %d is a privileged one", port)
	}
	for _, addr := range []netip.Addr{a, b} {
		l, err := net.Listen("tcp", netip.AddrPortFrom(addr, port).String())
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
}

func TestFreePortFails(t *testing.T) {
	ours := netip.MustParseAddr("127.0.0.1")
	elsewhere := netip.MustParseAddr("192.0.2.1") // an address for documentation, which no host has
	if port, err := loopback.FreePort(ours, elsewhere); err == nil {
		t.Errorf("got port %d on an address that is not ours", port)
	}
}

// TestReserved: FreePort does not return the same port twice, although nothing listens on it.
func TestReserved(t *testing.T) {
	seen := map[uint16]bool{}
	for range 600 { // so many that by chance alone some would be the same
		port, err := loopback.FreePort(netip.MustParseAddr("127.0.0.1"))
		if err != nil {
			t.Fatal(err)
		}
		if seen[port] {
			t.Fatalf("port %d twice", port)
		}
		seen[port] = true
	}
}
