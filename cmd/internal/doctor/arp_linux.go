package doctor

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Claimant sends an ARP probe for an address of an interface (RFC 5227 §2.1.1), and waits for an answer
// from another host. For an IPv6 address it returns what the kernel has found (see dadFailed).
func (s System) Claimant(ctx context.Context, name string, of netip.Addr, wait time.Duration) (string, error) {
	if !of.Is4() {
		return dadFailed(name, of)
	}
	i, err := net.InterfaceByName(name)
	if err != nil {
		return "", err
	}
	if len(i.HardwareAddr) != 6 {
		return "", nil // an interface without ARP, such as a tunnel
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, int(networkOrder(unix.ETH_P_ARP)))
	if err != nil {
		return "", permission(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: networkOrder(unix.ETH_P_ARP), Ifindex: i.Index}); err != nil {
		return "", err
	}
	to := &unix.SockaddrLinklayer{Protocol: networkOrder(unix.ETH_P_ARP), Ifindex: i.Index, Halen: 6, Addr: [8]byte{255, 255, 255, 255, 255, 255}}
	if err := unix.Sendto(fd, arpProbe(i.HardwareAddr, of), 0, to); err != nil {
		return "", err
	}
	return awaitClaim(ctx, fd, i.HardwareAddr, of, wait)
}

// networkOrder returns v for a field in network byte order.
func networkOrder(v uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v))
}

// Offsets in a packet of ARP for Ethernet and IPv4 (RFC 826).
const (
	arpSender   = 8
	arpSenderIP = 14
	arpTargetIP = 24
	arpSize     = 28
)

// arpProbe is a request for an address from a host that has none yet.
func arpProbe(own net.HardwareAddr, of netip.Addr) []byte {
	b := make([]byte, arpSize)
	copy(b, []byte{0, 1, 8, 0, 6, 4, 0, 1})
	copy(b[arpSender:], own)
	ip := of.As4()
	copy(b[arpTargetIP:], ip[:])
	return b
}

// awaitClaim waits for a host that says that it has an address.
func awaitClaim(ctx context.Context, fd int, own net.HardwareAddr, of netip.Addr, wait time.Duration) (string, error) {
	ip := of.As4()
	b := make([]byte, 256)
	for until := time.Now().Add(wait); ctx.Err() == nil; {
		left := time.Until(until)
		if left <= 0 {
			return "", nil
		}
		if err := receiveWithin(fd, min(left, 100*time.Millisecond)); err != nil {
			return "", err
		}
		n, _, err := unix.Recvfrom(fd, b, 0)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return "", err
		}
		if n >= arpSize && bytes.Equal(b[arpSenderIP:arpSenderIP+4], ip[:]) && !bytes.Equal(b[arpSender:arpSender+6], own) {
			return net.HardwareAddr(b[arpSender : arpSender+6]).String(), nil
		}
	}
	return "", ctx.Err()
}

// dadFailed looks whether the kernel has found another host with an IPv6 address of an interface.
func dadFailed(name string, of netip.Addr) (string, error) {
	const flag = 0x08 // IFA_F_DADFAILED
	b, err := os.ReadFile("/proc/thread-self/net/if_inet6")
	if err != nil {
		return "", err
	}
	want := strings.ReplaceAll(of.StringExpanded(), ":", "")
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) == 6 && f[0] == want && f[5] == name && strings.TrimLeft(f[4], "0") != "" {
			var flags int64
			for _, c := range f[4] {
				flags = flags<<4 | int64(strings.IndexRune("0123456789abcdef", c))
			}
			if flags&flag != 0 {
				return "another host", nil
			}
		}
	}
	return "", nil
}
