package doctor

import (
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Types of ICMP, and sizes of headers.
const (
	echoRequest4, echoReply4 = 8, 0
	echoRequest6, echoReply6 = 128, 129
	icmpHeader               = 8
)

// Echo sends a ping of ICMP. It uses a ping socket if the system lets this user have one
// (net.ipv4.ping_group_range), otherwise a raw one.
func (System) Echo(ctx context.Context, from, to netip.Addr, size int, wait time.Duration) error {
	fd, raw, err := icmpSocket(to)
	if err != nil {
		return permission(err)
	}
	defer unix.Close(fd)
	if err := prepareEcho(fd, from); err != nil {
		return err
	}
	p := echoPacket(to, size)
	if err := unix.Sendto(fd, p, 0, sockaddr(netip.AddrPortFrom(to, 0))); err != nil {
		if errors.Is(err, unix.EMSGSIZE) {
			return ErrTooLong
		}
		return err
	}
	return awaitEcho(ctx, fd, raw, to, p, wait)
}

func icmpSocket(to netip.Addr) (fd int, raw bool, err error) {
	protocol := unix.IPPROTO_ICMP
	if !to.Is4() {
		protocol = unix.IPPROTO_ICMPV6
	}
	if fd, err = unix.Socket(family(to), unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, protocol); err == nil {
		return fd, false, nil
	}
	fd, err = unix.Socket(family(to), unix.SOCK_RAW|unix.SOCK_CLOEXEC, protocol)
	return fd, true, err
}

// prepareEcho sets that packets are not fragmented, whatever the system knows of the path.
func prepareEcho(fd int, from netip.Addr) error {
	level, discover := unix.IPPROTO_IP, unix.IP_MTU_DISCOVER
	if !from.Is4() {
		level, discover = unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER
	}
	if err := unix.SetsockoptInt(fd, level, discover, unix.IP_PMTUDISC_PROBE); err != nil {
		return err
	}
	return unix.Bind(fd, sockaddr(netip.AddrPortFrom(from, 0)))
}

// echoPacket makes a request that is size bytes long with its IP header. The kernel replaces the
// identification of a ping socket.
func echoPacket(to netip.Addr, size int) []byte {
	header, typ := 20, byte(echoRequest4)
	if !to.Is4() {
		header, typ = 40, echoRequest6
	}
	p := make([]byte, max(size-header, icmpHeader+8))
	p[0] = typ
	binary.BigEndian.PutUint16(p[4:], uint16(os.Getpid()))
	binary.BigEndian.PutUint64(p[icmpHeader:], uint64(time.Now().UnixNano())) // the answer repeats these bytes, by which it is recognized
	if to.Is4() {
		binary.BigEndian.PutUint16(p[2:], checksum(p))
	}
	return p
}

// checksum returns the Internet checksum of b (RFC 1071).
func checksum(b []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(b[i])<<8 | uint32(b[i+1])
	}
	if len(b)%2 == 1 {
		sum += uint32(b[len(b)-1]) << 8
	}
	for sum > 0xFFFF {
		sum = sum>>16 + sum&0xFFFF
	}
	return ^uint16(sum)
}

// awaitEcho waits for the answer to a request, which has the same bytes behind its header.
func awaitEcho(ctx context.Context, fd int, raw bool, to netip.Addr, sent []byte, wait time.Duration) error {
	b := make([]byte, 1<<16)
	for until := time.Now().Add(wait); ctx.Err() == nil; {
		left := time.Until(until)
		if left <= 0 {
			return ErrNoAnswer
		}
		if err := receiveWithin(fd, min(left, 100*time.Millisecond)); err != nil {
			return err
		}
		n, from, err := unix.Recvfrom(fd, b, 0)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
			continue
		}
		if errors.Is(err, unix.EMSGSIZE) {
			return ErrTooLong
		}
		if err != nil {
			return err
		}
		got := b[:n]
		if raw && to.Is4() && len(got) >= 20 {
			got = got[min(len(got), int(got[0]&15)*4):]
		}
		if addrOf(from) == to && isReply(got, sent, to) {
			return nil
		}
	}
	return ctx.Err()
}

func receiveWithin(fd int, d time.Duration) error {
	t := unix.NsecToTimeval(d.Nanoseconds())
	return unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &t)
}

func isReply(got, sent []byte, to netip.Addr) bool {
	typ := byte(echoReply4)
	if !to.Is4() {
		typ = echoReply6
	}
	return len(got) == len(sent) && got[0] == typ && string(got[icmpHeader:]) == string(sent[icmpHeader:])
}
