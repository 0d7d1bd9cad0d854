package doctor

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ethtoolCommands are the commands of ethtool that read a feature (linux/ethtool.h).
var ethtoolCommands = map[string]uint32{"gso": 0x23, "gro": 0x2b}

// ethtoolRequest is struct ifreq with a pointer to struct ethtool_value.
type ethtoolRequest struct {
	name  [unix.IFNAMSIZ]byte
	value *ethtoolValue
	_     [16]byte
}

type ethtoolValue struct{ command, data uint32 }

// ethtool reads a feature of an interface that is on or off.
func ethtool(name string, command uint32) (bool, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	r := ethtoolRequest{value: &ethtoolValue{command: command}}
	if len(name) >= len(r.name) {
		return false, syscall.EINVAL
	}
	copy(r.name[:], name)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&r))); errno != 0 {
		return false, errno
	}
	return r.value.data != 0, nil
}
