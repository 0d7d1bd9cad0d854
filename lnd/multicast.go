package lnd

import "ulnet/lnet/nid"

// Group numbers a multicast group of a net, from 1 to MaxGroup; 0 is none. The driver decides which
// address of its network a group has.
type Group uint32

// MaxGroup is the highest number of a group.
const MaxGroup Group = 1<<16 - 1

// IsValid reports whether g is the number of a group.
func (g Group) IsValid() bool { return g > 0 && g <= MaxGroup }

// Multicaster is an NI whose network can take one datagram to many nodes at once (RM-1 and
// RM-A22). A datagram is a PUT without ACK whose Header.DestNID is the group's.
//
// Datagrams are unreliable: a member gets each one once, twice or not at all, and in
// any order, but always whole. An NI does not get its own. No connection is made for
// a datagram, and PeerUp and PeerDown do not report its sender or its receivers.
//
// A datagram arrives as every message does, with Delivery.Group set. The NID of
// Delivery.From is that of the address it came from, whatever the header claims; the
// PID is the header's, because networks do not say more. Parse never answers a datagram
// with Hold or an error.
type Multicaster interface {
	NI
	// GroupNID is the NID that stands for a group in Header.DestNID. Nothing is
	// sent to it by Send.
	GroupNID(g Group) nid.NID
	// Join makes the NI receive datagrams that others send to a group, until Leave. Joining
	// again does nothing, unless the NI has not been able to join the group on an interface
	// that was made again: then it tries again. The error is the system's; it is EOPNOTSUPP, as
	// errors.ErrUnsupported, if the network has no multicast.
	Join(g Group) error
	// Leave ends what Join has begun. Datagrams that have arrived already may still be delivered.
	Leave(g Group) error
	// Multicast sends m as one datagram to its Group, which is set. It never blocks, and
	// reports every failure through Upcalls.Finalize. The sender need not have joined.
	Multicast(m *Message)
	// MulticastLimits returns the present bounds of datagrams.
	MulticastLimits() MulticastLimits
}

// LinkFollower is an NI that finds its network interface again, and takes its MTU.
type LinkFollower interface {
	// LinkUp says that the link of the NI is up. lnet calls it each time that it learns of that, also if the link
	// seems not to have changed: the interface may have been deleted and made again meanwhile, or have another MTU. LinkUp may ask the
	// system for its interfaces, but does not wait for the network, and holds up no messages while it asks.
	LinkUp()
}

// MulticastLimits are the bounds of datagrams at one NI.
type MulticastLimits struct {
	// MaxPayload is the largest payload of one datagram in bytes. 0: the NI has
	// no multicast after all.
	MaxPayload int `json:"max_payload"`
	// ReceiveBuffer is how many bytes of memory the system keeps for datagrams
	// that wait to be read here, its own overhead included. 0 before the first
	// Join.
	ReceiveBuffer int `json:"receive_buffer"`
}

// Burst is how many datagrams with this many bytes of payload the receive buffer holds while
// the reader is blocked, and so how many a sender may send at once. It is an estimate on the
// safe side, because systems round up the memory of a datagram.
func (l MulticastLimits) Burst(payload int) int { return l.ReceiveBuffer / (2*payload + 1024) }

// AsMulticaster returns an NI as a Multicaster; ok is false if its network has no
// multicast.
func AsMulticaster(ni NI) (m Multicaster, ok bool) {
	m, ok = ni.(Multicaster)
	return m, ok && m.MulticastLimits().MaxPayload > 0
}
