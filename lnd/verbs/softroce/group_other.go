//go:build !linux

package softroce

import (
	"errors"
	"net/netip"
)

// openGroup fails: multicast needs Linux.
func openGroup(netip.AddrPort, netip.Addr, int) (*socket, error) { return nil, errors.ErrUnsupported }

func (*socket) castBy() error { return errors.ErrUnsupported }
