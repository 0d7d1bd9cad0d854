package lnd

import "net/netip"

// Tap receives every byte that a stream driver receives or is about to send. Without a Tap a
// driver pays only one comparison with nil for each run of bytes. The implementation is
// lnd/capture.
type Tap interface {
	// Flow is called when a connection begins, before its first byte.
	// dialled tells whether this side opened it. A nil Flow captures nothing.
	Flow(local, remote netip.AddrPort, dialled bool) Flow
}

// Flow is one captured connection. Sent is called with bytes just before they are written, so
// that no answer is recorded before its request. If the connection then fails, the last of
// these bytes may never have left. Received is called with bytes that were read. Both may be
// called at the same time, each from one goroutine at a time; b is valid during the call.
type Flow interface {
	Sent(b []byte)
	Received(b []byte)
	Close()
}

// DatagramTap is a [Tap] that takes multicast datagrams as well.
type DatagramTap interface {
	Tap
	// Datagram is called with a datagram that is about to be sent, or with one that was
	// received and accepted. pieces are its bytes, in order, and valid during the call.
	Datagram(from, to netip.AddrPort, sent bool, pieces [][]byte)
}

// PacketTap is a [Tap] that takes packets of RoCEv2 as well.
type PacketTap interface {
	Tap
	// Packet is called with a packet that is about to be sent, or with one that was received
	// with a correct ICRC. Several goroutines may call it at once.
	Packet(p Packet)
}

// Packet is a packet of RoCEv2 on its way between two UDP ports. A Tap may use it only
// until PacketTap.Packet returns.
type Packet struct {
	From, To     netip.AddrPort // IP addresses and UDP ports
	Sent         bool           // true: this node sent the packet; false: received it
	TrafficClass uint8          // traffic class of the IP header, as sent or received
	ID           uint16         // identification field of IPv4, which the ICRC covers
	Bytes        []byte         // bytes of the packet from the BTH to the ICRC
}
