package verbs

import (
	"log/slog"
	"net/netip"

	"ulnet/lnet/machine"
)

// OpenConfig is what a provider needs to open the device of an address. A zero field means the
// default, except for Addr and Clock.
type OpenConfig struct {
	Addr  netip.Addr    // IP address of this node; the device's GID is made of it
	Clock machine.Clock // clock of timers; required
	MTU   int           // payload bytes of a packet, 256 to 4096; 0: as many as the interface permits
	// ReceiveBuffer is how many bytes of arriving packets the system may keep, for the device
	// and for each multicast group. With 0 the device has the system's default, and a group
	// asks for 4 MiB. A provider with hardware does not use it.
	ReceiveBuffer int
	Log           *slog.Logger // log of the device; nil discards records
	// Tap is shown every packet that is about to leave or that came in and had a good
	// ICRC. It may be called by several goroutines at once, with locks of the provider: it
	// must not use the device. Hardware shows none.
	Tap func(p TappedPacket)
	// Unknown is called with the sender of each request of a reliable connection that arrives
	// for a queue pair which this device never had. Such a request is from a peer of an earlier
	// process that had the address and died. The call is an upcall, made for each packet, so
	// the consumer must limit how it reacts. Senders can be forged, as with all packets. nil:
	// no call. Hardware never makes the call.
	Unknown func(from netip.Addr)
}

// TappedPacket is a packet that passes a device, from the BTH to the ICRC. It is valid
// during the call. The ICRC covers ID, so a capture needs it too.
type TappedPacket struct {
	From, To     netip.AddrPort // IP addresses and UDP ports of the packet
	Sent         bool           // true: this device sent the packet; false: received it
	TrafficClass uint8          // traffic class of the packet (the TOS byte)
	ID           uint16         // identification field of the IPv4 header
	Bytes        []byte         // bytes of the packet from the BTH to the ICRC
}

// Opener opens a device: softroce.Open or ibv.Open. Opening an address again within a process
// returns another handle of the same device, which closes with its last handle and has the
// configuration of the first.
type Opener func(cfg OpenConfig) (Device, error)
