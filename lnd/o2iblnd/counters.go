package o2iblnd

import "sync/atomic"

// Reason says why a connection was refused, closed or not made, or a message dropped.
// Each has a counter.
type Reason uint8

// The reasons, in the order in which they can occur between the start and the end of a connection.
const (
	ReasonNone Reason = iota

	// Why requests of peers were refused, in the order of the checks (o2iblnd-wire §7.1).
	UnprivilegedPort // the request claims a port above 1023 and require_privileged_port is set
	RequestCut       // the request's private data ends early
	RequestMagic     // the request does not begin with o2iblnd's magic
	RequestVersion   // the request has a version that this side does not speak, such as version 1
	RequestBad       // the request's CONNREQ is not valid
	RequestType      // the request holds a message, but no CONNREQ
	ForeignNID       // no NI of this address has the NID that the request wants
	RequestSource    // the request's source NID does not have the address that it came from
	RefusedEarly     // refused because no NI has the NID that the request wants, but one is starting
	RefusedStale     // the request is meant for an earlier incarnation of this NI
	RefusedDepth     // refused because the peer's queue depth exceeds our peer_credits
	RefusedFrags     // the request wants more fragments than a transfer can have
	RefusedSize      // refused because the peer wants longer messages than o2iblnd has
	RefusedRestart   // the peer has a new incarnation or version: its old connections are closed first
	RefusedRace      // refused because both sides connect at once, and this side's request wins
	RefusedLimit     // there are too many connections: max_conns of the NI, or 508 of one peer
	AcceptFailed     // the device could not accept the request
	ShuttingDown     // refused because this NI shuts down

	// Why requests that this side sent have failed.
	ConnectFailed   // the device could not send the request
	Unreachable     // no answer came to the request
	NoListener      // the peer's host has no o2iblnd at this port
	RejectedRace    // both sides connect at once, and the peer's request wins
	RejectedStale   // the peer has a new incarnation, or still has connections to an earlier one of this NI
	RejectedDepth   // the peer has a shorter queue: this side asks for one of that length
	RejectedFrags   // the peer takes fewer fragments: this side asks for as few
	RejectedMTU     // the path MTU is too large for the peer: this side asks for the next smaller one
	RejectedVersion // the peer speaks only version 1 of the protocol
	RejectedEarly   // the peer's NI is starting
	RejectedLimit   // the peer has no resources for a connection
	Rejected        // the peer refuses for another reason
	AckBad          // the peer's CONNACK is not valid
	AckParams       // the peer's CONNACK has parameters beyond what was asked for
	AckPeer         // the peer's CONNACK comes from another NID or incarnation, or has another version
	QueueTimeout    // no connection was established before the deadline of a message

	// Why established connections have ended.
	PeerClosed       // the peer closed the connection
	TransportFailed  // the device ended the connection: retries exceeded, or an error of a work request
	NotPosted        // the device took no work request: this node lacks memory, or has posted too many
	BadMessage       // the peer sent an invalid message (o2iblnd-wire §3.1)
	BadChecksum      // the checksum in a message is wrong
	StaleMessage     // the message belongs to another connection or incarnation
	CreditsReturned  // the peer gives back more credits than it was given
	CreditsOverdrawn // the peer sends more than it has credits for
	UnexpectedType   // CONNREQ or CONNACK came on an established connection
	UnknownCookie    // the cookie of an answer belongs to no request
	BadStatus        // the peer reports a length of a transfer that does not fit the one asked for
	BadDescriptor    // the length in a descriptor makes no sense
	Refused          // lnet refused the header of a message
	SendTimeout      // a message waited for the device, or for the peer's answer, beyond the timeout
	CreditTimeout    // a message waited for credits beyond the timeout
	PeerRestarted    // closed because the peer has a new incarnation or version
	NoMemory         // memory could not be registered
	PeerStatus       // the peer reports that it could not carry out a transfer

	// Why messages were not sent, or their transfer failed, although the connection goes on.
	NoTx         // all ntx messages are under way
	TooManyFrags // the transfer would take more WRITEs than the peer allows (EMSGSIZE)
	BadHeader    // a message to send could not be encoded
	NoReply      // lnet did not answer a GET_REQ before its time-out or the end of its connection
	NotWritten   // the peer has written less than it says, as kernels do with short replies

	// Faults after which the connection goes on.
	SumNotTrusted // a wrong checksum of an IMMEDIATE with payload, which kernels send

	// What this NI did because of peers that use connections of its earlier incarnation (see redials).
	Redialled     // this side requested a connection to the peer, so that the peer notices the restart
	RedialLimited // this side requested no connection to the peer, because of too many such requests at a time

	// Why multicast datagrams were dropped when they arrived, in the order of the checks, and why others
	// did not leave.
	DatagramCut     // a datagram shorter than its headers
	DatagramForeign // a datagram that does not begin with the magic number of o2iblnd's datagrams
	DatagramVersion // a datagram of an unknown version
	DatagramHeader  // a datagram whose LNet header does not have the size of o2ib's
	DatagramLength  // a datagram whose payload is not as long as its header says
	DatagramType    // a datagram whose message is not a PUT, or is a PUT that asks for an ACK
	DatagramOwn     // a datagram that names this NI as its sender
	DatagramNet     // a datagram for another net on the same address
	DatagramSource  // a datagram whose source NID does not have the address that it came from
	DatagramGroup   // a datagram to a group other than the one that it names, or to a group not joined
	DatagramTooLong // a datagram not sent: longer than the network's packets
	DatagramFailed  // a datagram not sent: the device refused it
	numReasons
)

var reasonNames = [numReasons]string{
	ReasonNone:       "none",
	UnprivilegedPort: "unprivileged_port", RequestCut: "request_cut", RequestMagic: "request_magic",
	RequestVersion: "request_version", RequestBad: "request_bad", RequestType: "request_type",
	ForeignNID: "foreign_nid", RequestSource: "request_source", RefusedEarly: "refused_early",
	RefusedStale: "refused_stale", RefusedDepth: "refused_depth", RefusedFrags: "refused_frags",
	RefusedSize: "refused_size", RefusedRestart: "refused_restart", RefusedRace: "refused_race",
	RefusedLimit: "refused_limit", AcceptFailed: "accept_failed", ShuttingDown: "shutting_down",
	ConnectFailed: "connect_failed", Unreachable: "unreachable", NoListener: "no_listener",
	RejectedRace: "rejected_race", RejectedStale: "rejected_stale", RejectedDepth: "rejected_depth",
	RejectedFrags: "rejected_frags", RejectedMTU: "rejected_mtu", RejectedVersion: "rejected_version", RejectedEarly: "rejected_early",
	RejectedLimit: "rejected_limit", Rejected: "rejected", AckBad: "ack_bad", AckParams: "ack_params",
	AckPeer: "ack_peer", QueueTimeout: "queue_timeout",
	PeerClosed: "peer_closed", TransportFailed: "transport_failed", NotPosted: "not_posted", BadMessage: "bad_message",
	BadChecksum: "bad_checksum", StaleMessage: "stale_message", CreditsReturned: "credits_returned",
	CreditsOverdrawn: "credits_overdrawn", UnexpectedType: "unexpected_type", UnknownCookie: "unknown_cookie",
	BadStatus: "bad_status", BadDescriptor: "bad_descriptor", Refused: "refused", SendTimeout: "send_timeout",
	CreditTimeout: "credit_timeout", PeerRestarted: "peer_restarted", NoMemory: "no_memory",
	PeerStatus: "peer_status",
	NoTx:       "no_tx", TooManyFrags: "too_many_frags", BadHeader: "bad_header", NoReply: "no_reply", NotWritten: "not_written",
	SumNotTrusted: "sum_not_trusted", Redialled: "redialled", RedialLimited: "redial_limited",
	DatagramCut: "datagram_cut", DatagramForeign: "datagram_foreign", DatagramVersion: "datagram_version",
	DatagramHeader: "datagram_header", DatagramLength: "datagram_length", DatagramType: "datagram_type",
	DatagramOwn: "datagram_own", DatagramNet: "datagram_net", DatagramSource: "datagram_source",
	DatagramGroup: "datagram_group", DatagramTooLong: "datagram_too_long", DatagramFailed: "datagram_failed",
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
