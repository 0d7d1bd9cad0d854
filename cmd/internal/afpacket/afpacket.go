// Package afpacket captures packets of network interfaces with Linux packet
// sockets, in pure Go. It needs CAP_NET_RAW.
package afpacket

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"time"

	"github.com/mdlayher/socket"
	"golang.org/x/sys/unix"

	"ulnet/lnd/capture"
)

const (
	// maxPacket is larger than any packet that the kernel delivers.
	maxPacket = 256 << 10
	// receiveBuffer is the size of the receive buffer in bytes, enough for bursts.
	receiveBuffer = 16 << 20
)

// Handle is an open packet socket. Its packets begin with the IP header,
// whatever the interface. Not safe for concurrent use, except for Close.
type Handle struct {
	conn *socket.Conn
	buf  []byte
	oob  []byte
}

// Open opens an interface; "any" stands for all of them.
func Open(name string) (*Handle, error) {
	index := 0
	if name != "any" {
		i, err := net.InterfaceByName(name)
		if err != nil {
			return nil, fmt.Errorf("interface %q: %w", name, err)
		}
		index = i.Index
	}
	conn, err := socket.Socket(unix.AF_PACKET, unix.SOCK_DGRAM, 0, "packet", nil)
	if err != nil {
		return nil, fmt.Errorf("open a packet socket: %w", err)
	}
	if err := configure(conn, index); err != nil {
		conn.Close()
		return nil, fmt.Errorf("listen on %q: %w", name, err)
	}
	return &Handle{conn: conn, buf: make([]byte, maxPacket), oob: make([]byte, 256)}, nil
}

func configure(conn *socket.Conn, index int) error {
	if err := conn.SetsockoptInt(unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1); err != nil {
		return err
	}
	// SO_RCVBUFFORCE may exceed net.core.rmem_max but needs CAP_NET_ADMIN.
	if conn.SetsockoptInt(unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, receiveBuffer) != nil {
		_ = conn.SetReadBuffer(receiveBuffer)
	}
	return conn.Bind(&unix.SockaddrLinklayer{Protocol: networkOrder(unix.ETH_P_ALL), Ifindex: index})
}

// Next returns the next IP packet. It waits until there is one, ctx ends, or Close is called.
// The packet is valid until the next call of Next.
func (h *Handle) Next(ctx context.Context) (capture.Packet, error) {
	for {
		n, oobn, _, from, err := h.conn.Recvmsg(ctx, h.buf, h.oob, unix.MSG_TRUNC)
		if err != nil {
			return capture.Packet{}, err
		}
		link, ok := from.(*unix.SockaddrLinklayer)
		if !ok || !wanted(link) {
			continue
		}
		return capture.Packet{
			Time: timestamp(h.oob[:oobn]), Link: capture.LinkRaw,
			Data: h.buf[:min(n, len(h.buf))], Length: n,
		}, nil
	}
}

// Dropped returns how many packets the kernel has dropped since the last call of Dropped because
// the receive buffer was full.
func (h *Handle) Dropped() uint64 {
	stats, err := h.conn.GetsockoptTpacketStats(unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return 0
	}
	return uint64(stats.Drops)
}

// Close closes the socket.
func (h *Handle) Close() error { return h.conn.Close() }

// NotPermitted reports whether err means that this process lacks the capability CAP_NET_RAW.
func NotPermitted(err error) bool { return errors.Is(err, fs.ErrPermission) }

// wanted reports false for packets that are not IP, and for the second copy of each packet on a
// loopback interface.
func wanted(link *unix.SockaddrLinklayer) bool {
	if link.Pkttype == unix.PACKET_OUTGOING && link.Hatype == unix.ARPHRD_LOOPBACK {
		return false
	}
	return link.Protocol == networkOrder(unix.ETH_P_IP) || link.Protocol == networkOrder(unix.ETH_P_IPV6)
}

// networkOrder returns v for a field in network byte order.
func networkOrder(v uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v))
}

// timestamp returns when the kernel received the packet.
func timestamp(oob []byte) time.Time {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err == nil {
		for _, m := range messages {
			if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SO_TIMESTAMPNS && len(m.Data) >= 16 {
				s := int64(binary.NativeEndian.Uint64(m.Data))
				ns := int64(binary.NativeEndian.Uint64(m.Data[8:]))
				return time.Unix(s, ns).UTC()
			}
		}
	}
	return time.Now().UTC()
}
