package socklnd

import "sync/atomic"

// Reason says why a connection was refused, closed or not made. Each has a
// counter.
type Reason uint8

// The reasons, in the order in which they can occur between the start and the end of a connection.
const (
	ReasonNone Reason = iota

	// Accepted connections, before their HELLO was accepted:
	UnprivilegedPort // the source port is above 1023 in mode secure
	HandshakeLimit   // too many unfinished handshakes: the oldest was closed
	AddressLimit     // too many accepted connections from one address
	ConnLimit        // too many accepted connections in all, or half of those allowed while this address has many
	AcceptorTimeout  // the acceptor request made no progress
	AcceptorCut      // the connection ended within the acceptor request
	AcceptorMagic    // the first bytes were no acceptor request
	GenericMagic     // LNet's generic magic in place of the acceptor's: refused with an answer
	AcceptorVersion  // unknown version of the acceptor request: refused with an answer
	ForeignNID       // no NI of this listener has the NID that the peer dialled
	AcceptFailed     // the system could not accept a connection
	NoAddress        // an accepted connection without usable addresses
	HelloTimeout     // the HELLO made no progress
	HelloCut         // the connection ended within the HELLO
	HelloMagic       // the bytes were no HELLO
	HelloVersion     // a HELLO of a version that we do not speak: refused with an answer
	HelloAddresses   // the HELLO has an invalid address list
	HelloSource      // the HELLO's source NID is ANY, none, without an address, or this NI's
	HelloNet         // the HELLO's source NID is of another net than the NI's
	HelloAddress     // the HELLO's source NID has another address than the connection: see SourceAddress
	HelloType        // the HELLO's connection type is not ANY, CONTROL, BULK_IN or BULK_OUT
	RefusedRace      // both sides dial: the peer's dial was refused
	RefusedDuplicate // enough connections of this type: refused with an answer
	RefusedRestart   // the peer has a new incarnation: refused with an answer
	RefusedProtocol  // the version differs from the peer's other connections: refused with an answer
	HelloWriteFailed // our answer to the HELLO could not be written
	ShuttingDown     // refused because the NI shuts down

	// Connections that this side dialled:
	ConnectFailed    // the TCP connect failed
	ConnectTimeout   // the TCP connect took longer than sock_timeout
	NoReservedPort   // reserved source ports are not permitted
	NoFreePort       // all reserved source ports are in use
	DialHelloCut     // the peer closed instead of answering the HELLO
	DialHelloBad     // the peer's answer was no HELLO
	DialHelloPeer    // the answer came from another NID or PID than dialled
	DialHelloType    // the answer had another connection type than requested
	DialRefused      // the answer was NONE: race or duplicate
	DialOtherVersion // the answer was NONE in another version
	TooSoon          // messages refused because the next dial is not allowed yet (back-off)
	NoRoute          // messages to a peer that cannot be dialled

	// Established connections:
	PeerClosed      // the stream ended between messages
	CutMessage      // the stream ended within a message
	ReadFailed      // the system reported an error of reading
	WriteFailed     // the system reported an error of writing
	ReceiveTimeout  // a message stopped half-way for sock_timeout
	SendTimeout     // the peer took no byte for sock_timeout
	BadMessageType  // the message type is neither NOOP nor LNET
	BadChecksum     // the checksum in a message is wrong
	BadAck          // an ack for a cookie that was never sent
	TooManyAcks     // the peer requests acks but does not read them
	BadMessage      // lnet refused the header
	BadHeader       // a message that cannot be encoded on its connection
	PeerRestarted   // closed because the peer has a new incarnation
	ProtocolChanged // closed because the peer has another version

	// Faults after which an established connection stays open:
	ForeignChecksum // a checksum in a version that has none: not verified
	RepeatedCookie  // an ack that was asked for again before it had left: sent once

	// Multicast datagrams: those that arrived and were dropped, in the order of the
	// tests, and those that did not leave.
	DatagramCut       // a datagram too long, or shorter than its headers
	DatagramForeign   // a datagram that is not LNet's
	DatagramVersion   // a datagram of an unknown version
	DatagramHeader    // a datagram whose LNet header is not of the size that the NI's NID needs
	DatagramLength    // a datagram whose payload is not as long as its header says
	DatagramType      // a datagram whose message is not a PUT, or is a PUT that asks for an ACK
	DatagramOwn       // a datagram of this NI, which the system looped back
	DatagramNet       // a datagram for another net on the same interface
	DatagramSource    // a datagram whose source NID does not have the address that it came from
	DatagramGroup     // a datagram to a group other than the one that it names, or to a group not joined
	DatagramInterface // a datagram from another interface than the NI's
	DatagramTooLong   // a datagram not sent: longer than the network's packets
	DatagramFailed    // a datagram not sent: the system refused it
	numReasons
)

var reasonNames = [numReasons]string{
	ReasonNone:       "none",
	UnprivilegedPort: "unprivileged_port", HandshakeLimit: "handshake_limit",
	AddressLimit: "address_limit", ConnLimit: "connection_limit",
	AcceptorTimeout: "acceptor_timeout", AcceptorCut: "acceptor_cut",
	AcceptorMagic: "acceptor_magic", GenericMagic: "generic_magic",
	AcceptorVersion: "acceptor_version", ForeignNID: "foreign_nid",
	AcceptFailed: "accept_failed", NoAddress: "no_address",
	HelloTimeout: "hello_timeout", HelloCut: "hello_cut", HelloMagic: "hello_magic",
	HelloVersion: "hello_version", HelloAddresses: "hello_addresses",
	HelloSource: "hello_source", HelloNet: "hello_net", HelloAddress: "hello_address", HelloType: "hello_type",
	RefusedRace: "refused_race", RefusedDuplicate: "refused_duplicate",
	RefusedRestart: "refused_restart", RefusedProtocol: "refused_protocol",
	HelloWriteFailed: "hello_write_failed", ShuttingDown: "shutting_down",
	ConnectFailed: "connect_failed", ConnectTimeout: "connect_timeout",
	NoReservedPort: "no_reserved_port", NoFreePort: "no_free_port", DialHelloCut: "dial_hello_cut",
	DialHelloBad: "dial_hello_bad", DialHelloPeer: "dial_hello_peer",
	DialHelloType: "dial_hello_type", DialRefused: "dial_refused",
	DialOtherVersion: "dial_other_version", TooSoon: "too_soon", NoRoute: "no_route",
	PeerClosed: "peer_closed", CutMessage: "cut_message",
	ReadFailed: "read_failed", WriteFailed: "write_failed",
	ReceiveTimeout: "receive_timeout", SendTimeout: "send_timeout",
	BadMessageType: "bad_message_type", BadChecksum: "bad_checksum",
	BadAck: "bad_ack", TooManyAcks: "too_many_acks",
	BadMessage: "bad_message", BadHeader: "bad_header",
	PeerRestarted: "peer_restarted", ProtocolChanged: "protocol_changed",
	ForeignChecksum: "foreign_checksum", RepeatedCookie: "repeated_cookie",
	DatagramCut: "datagram_cut", DatagramForeign: "datagram_foreign", DatagramVersion: "datagram_version",
	DatagramHeader: "datagram_header", DatagramLength: "datagram_length", DatagramType: "datagram_type",
	DatagramOwn: "datagram_own", DatagramNet: "datagram_net", DatagramSource: "datagram_source",
	DatagramGroup: "datagram_group", DatagramInterface: "datagram_interface",
	DatagramTooLong: "datagram_too_long", DatagramFailed: "datagram_failed",
}

// String returns the word under which the reason is counted.
func (r Reason) String() string {
	if r < numReasons {
		return reasonNames[r]
	}
	return "unknown"
}

// Reasons returns all reasons, in order.
func Reasons() []Reason {
	all := make([]Reason, 0, numReasons-1)
	for r := ReasonNone + 1; r < numReasons; r++ {
		all = append(all, r)
	}
	return all
}

// Counters says how often each Reason occurred.
type Counters [numReasons]uint64

// Of returns how often r occurred.
func (c *Counters) Of(r Reason) uint64 { return c[r] }

// counters are the live Counters of an NI.
type counters [numReasons]atomic.Uint64

func (c *counters) count(r Reason) { c[r].Add(1) }

func (c *counters) snapshot() (s Counters) {
	for i := range c {
		s[i] = c[i].Load()
	}
	return s
}
