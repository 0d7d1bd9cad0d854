package control

import (
	"fmt"
	"net"
	"os"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// access is what a client is allowed to do.
type access uint8

const (
	accessNone access = iota
	accessRead
	accessWrite
)

// credentials are the user and groups of the client process at the time when it connected.
type credentials struct {
	uid    uint32
	groups []uint32 // the primary and the supplementary groups
}

// policy is the owner and the group of a socket, which decide what clients are allowed to do.
type policy struct{ owner, group uint32 }

// policy returns the owner and the group that the file of the socket has now. It is called for each connection, because
// an administrator may change them at any time. errReplaced: the file at the path is not that of the socket.
func (s *Socket) policy() (policy, error) {
	info, err := os.Lstat(s.path)
	if err != nil {
		return policy{}, err
	}
	if !s.is(info) {
		return policy{}, errReplaced
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return policy{}, fmt.Errorf("%s: no owner known", s.path)
	}
	return policy{owner: stat.Uid, group: stat.Gid}, nil
}

// of returns what a client with these credentials is allowed to do.
func (p policy) of(c credentials) access {
	switch {
	case c.uid == 0 || c.uid == p.owner:
		return accessWrite
	case slices.Contains(c.groups, p.group):
		return accessRead
	}
	return accessNone
}

// peerCredentials asks the kernel for the credentials of the peer.
func peerCredentials(c *net.UnixConn) (credentials, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return credentials{}, err
	}
	var found credentials
	var sockErr error
	err = raw.Control(func(fd uintptr) { found, sockErr = socketCredentials(int(fd)) })
	if err == nil {
		err = sockErr
	}
	return found, err
}

func socketCredentials(fd int) (credentials, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return credentials{}, fmt.Errorf("SO_PEERCRED: %w", err)
	}
	groups, err := peerGroups(fd)
	if err != nil {
		return credentials{}, fmt.Errorf("SO_PEERGROUPS: %w", err)
	}
	return credentials{uid: cred.Uid, groups: append(groups, cred.Gid)}, nil
}

// maxGroups is the largest number of supplementary groups of a process (NGROUPS_MAX).
const maxGroups = 65536

// peerGroups returns the supplementary groups of the peer.
func peerGroups(fd int) ([]uint32, error) {
	groups := make([]uint32, 32)
	for {
		size := uint32(len(groups) * 4)
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(&groups[0])), uintptr(unsafe.Pointer(&size)), 0)
		switch {
		case errno == 0:
			return groups[:size/4], nil
		case errno == unix.ERANGE && len(groups) < maxGroups:
			groups = make([]uint32, maxGroups)
		default:
			return nil, errno
		}
	}
}
