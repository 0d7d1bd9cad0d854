//go:build !linux

package socklnd

import (
	"net/netip"
	"syscall"
)

// haveDatagrams says that there is no multicast: it needs Linux.
const haveDatagrams = false

type datagramWriter struct{ local netip.AddrPort }

func newDatagramWriter(netip.Addr, int, int, int, int) (*datagramWriter, error) {
	return nil, syscall.EOPNOTSUPP
}

func (*datagramWriter) send(netip.AddrPort, [][]byte, bool) (bool, error) {
	return true, syscall.EOPNOTSUPP
}
func (*datagramWriter) close() {}

type datagramReader struct {
	buffer int
	look   bool
}

func newDatagramReader(netip.Addr, uint16, int, int, *polling) (*datagramReader, error) {
	return nil, syscall.EOPNOTSUPP
}

func (*datagramReader) read() (int, error)                     { return 0, syscall.EOPNOTSUPP }
func (*datagramReader) packet(int, *packet)                    {}
func (*datagramReader) join(netip.Addr, int, netip.Addr) error { return syscall.EOPNOTSUPP }
func (*datagramReader) leave(netip.Addr, int) error            { return syscall.EOPNOTSUPP }
func (*datagramReader) close()                                 {}
