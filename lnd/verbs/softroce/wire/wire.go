// Package wire is the network of a softroce device: it sends and receives datagrams over UDP
// or over something that behaves like it.
//
// A [Network] opens ports, one for each address and one for each multicast group of an address. It
// does not interpret bytes, with one exception: the ICRC of a packet covers the IPv4
// identification, and so the datagrams of a [Burst] are numbered from 0 on (DF is set).
package wire

import (
	"errors"
	"net/netip"
)

// Port is the UDP port of RoCEv2.
const Port = 4791

// Errors of Conn.Send that callers handle.
var (
	// ErrUncut: the system does not cut bursts after all. The datagrams of the burst that it
	// has refused, and of all later bursts, are to be sent one by one, numbered 0 each.
	ErrUncut = errors.New("bursts are not cut into datagrams")
	// ErrFull: there was no room, and what is left of the list was dropped.
	ErrFull = errors.New("no room for datagrams")
)

// Doubt says why the destination of a burst may not exist.
type Doubt uint8

const (
	NoDoubt Doubt = iota // nothing suggests that the destination is missing
	Claimed              // the burst answers a packet, whose source may be forged
	Asked                // the burst belongs to a request, which the destination has not answered
	Silent               // the destination answered earlier, but not the latest packets
	Doubts               // number of values
)

// Burst is a sequence of datagrams to one destination. All have Size bytes; the last may have
// less.
type Burst struct {
	To       netip.AddrPort // address of a node or a group
	Class    uint8          // traffic class of the IP header
	Doubt    Doubt          // why the destination may not exist: with a value other than NoDoubt, the burst leaves from Attr.Aside, and never waits for room
	Size     int            // bytes of each datagram but the last
	Segments int            // number of datagrams
	Bytes    []byte         // bytes of all datagrams, one after the other
}

// Datagrams are one datagram from a sender, or several that are joined. All have Size bytes;
// the last may have less.
type Datagrams struct {
	From  netip.AddrPort // address and port of the sender
	Class uint8          // traffic class of the IP header; 0 if unknown
	Size  int            // bytes of each datagram but the last
	Bytes []byte         // bytes of all datagrams, one after the other
}

// Config has the parameters of opening a port.
type Config struct {
	Local netip.AddrPort // IP address and UDP port to bind
	// Group, if it is valid, is the multicast group whose datagrams the port receives, over the
	// interface that has Local's address. Such a port does not send.
	Group netip.Addr
	// ReceiveBuffer is how many bytes of arriving datagrams may wait; 0: the default.
	ReceiveBuffer int
	// Receive is called with what arrived, in order and one call at a time, from a
	// goroutine of the network's, or a follower that runs its read loop. The list is
	// valid during the call.
	Receive func(list []Datagrams)
}

// Attr describes a port.
type Attr struct {
	Local         netip.AddrPort // IP address and UDP port
	MTU           int            // MTU of the interface, IP header included
	Cut           bool           // bursts of more than one datagram may be sent
	ReceiveBuffer int            // receive buffer in bytes, with the system's overhead
	// Aside has, for each Doubt, the address from which bursts with that Doubt leave. Each is that of a socket with a
	// send buffer of its own, because datagrams to a missing neighbour take room there while the system looks for it.
	// If the addresses are not valid, the port has only one socket, and all bursts must have NoDoubt. The address for
	// NoDoubt is never valid: it is Local.
	Aside [Doubts]netip.AddrPort
}

// Network opens ports.
type Network interface {
	Open(cfg Config) (Conn, error)
}

// Conn is an open port. Its methods are safe for concurrent use.
type Conn interface {
	Attr() Attr
	// Send sends bursts, in order, without keeping them. It returns how many of them it has
	// sent or dropped; the error, if any, is that of the next one. It waits only while the
	// system has no room for what is being sent.
	Send(list []Burst) (n int, err error)
	// Close closes the port. It waits for a call of Receive to end; after Close, there is none.
	Close() error
}
