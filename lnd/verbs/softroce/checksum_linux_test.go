package softroce

import (
	"bytes"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestNoChecksum: a socket receives packets without a UDP checksum, as kernels and adapters send
// them. Over IPv6 it does so only because of a socket option.
func TestNoChecksum(t *testing.T) {
	for _, a := range []string{"127.0.0.1", "::1"} {
		t.Run(a, func(t *testing.T) {
			at := netip.AddrPortFrom(netip.MustParseAddr(a), 0)
			s, err := udp{}.openSocket(at, 0)
			if err != nil {
				t.Skipf("no such address: %v", err)
			}
			defer s.close()
			from, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
			if err != nil {
				t.Fatal(err)
			}
			defer from.Close()
			rc, err := from.SyscallConn()
			if err != nil {
				t.Fatal(err)
			}
			level, option := unix.SOL_SOCKET, unix.SO_NO_CHECK
			if at.Addr().Is6() {
				level, option = unix.SOL_UDP, unix.UDP_NO_CHECK6_TX
			}
			if e := rc.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), level, option, 1) }); e != nil || err != nil {
				t.Fatal(e, err)
			}
			if _, err := from.WriteToUDPAddrPort([]byte("no checksum"), s.local); err != nil {
				t.Fatal(err)
			}
			if err := s.conn.SetReadDeadline(time.Now().Add(60 * time.Second)); err != nil {
				t.Fatal(err)
			}
			list, err := s.receive()
			if err != nil || len(list) != 1 || !bytes.Equal(list[0].Bytes, []byte("no checksum")) {
				t.Errorf("%v, %v", list, err)
			}
		})
	}
}
