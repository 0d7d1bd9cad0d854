//go:build !linux

package softroce

import (
	"errors"
	"net/netip"
)

// openGroup and castBy need Linux, as multicast does.
func openGroup(netip.AddrPort, netip.Addr, int) (*socket, error) { return nil, errors.ErrUnsupported }

func (*socket) castBy() error { return errors.ErrUnsupported }
