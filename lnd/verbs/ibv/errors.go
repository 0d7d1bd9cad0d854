//go:build ibverbs && cgo && linux

package ibv

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
)

// errForeign says that a consumer mixed objects of different providers, devices or PDs.
var errForeign = errors.New("an object of another provider, device or protection domain, or memory outside of its region")

// openError says why there is no device at an address, and what to do.
func openError(addr netip.Addr, step string, errno syscall.Errno) error {
	return fmt.Errorf("no RDMA device at %v: %s: %w: %s", addr, step, errno, openAdvice(addr, errno))
}

// openAdvice says what to do when a device cannot be opened.
func openAdvice(addr netip.Addr, errno syscall.Errno) string {
	const soft = "see what there is with \"rdma link\"; without hardware add software RoCE to the interface of the address: " +
		"rdma link add rxe0 type rxe netdev eth0"
	switch errno {
	case syscall.ENOENT, syscall.ENOSYS:
		return "load the connection manager: modprobe rdma_ucm; " + soft
	case syscall.EACCES, syscall.EPERM:
		return "run as root, or be allowed to open /dev/infiniband/*"
	case syscall.EADDRNOTAVAIL:
		return "no interface has this address: ip address show"
	case syscall.ENETDOWN, syscall.ENETUNREACH:
		return "set the interface up: ip link set dev eth0 up; rdma link"
	case syscall.ENOMEM:
		return memoryAdvice
	case syscall.ENODEV:
		return "no RDMA device belongs to an interface with this address, or the module rdma_ucm is missing (modprobe rdma_ucm); " + soft
	}
	return soft
}

const memoryAdvice = "raise the limit on locked memory: ulimit -l unlimited, or LimitMEMLOCK=infinity for systemd"

// bindError makes the error for a port that cannot be bound.
func bindError(addr netip.AddrPort, errno syscall.Errno) error {
	advice := "see who has it: rdma resource show cm_id"
	if errno == syscall.EACCES {
		advice = "a port below 1024 needs CAP_NET_BIND_SERVICE: run as root, or choose another port (tunable service)"
	}
	return fmt.Errorf("bind to %v: %w: %s", addr, errno, advice)
}

// makeError makes the error for an object that cannot be created.
func makeError(what string, errno syscall.Errno) error {
	if errno == syscall.ENOMEM || errno == syscall.EAGAIN {
		return fmt.Errorf("%s: %w: %s, or the device has no more of them: rdma resource show", what, errno, memoryAdvice)
	}
	return fmt.Errorf("%s: %w", what, errno)
}
