package verbs

import (
	"net/netip"
	"time"
)

// The bounds of private data in bytes, without the part that RDMA-CM uses.
const (
	MaxRequestPrivate = 56
	MaxAcceptPrivate  = 196
	MaxRejectPrivate  = 148
)

// QPConfig has the parameters of a reliable queue pair.
type QPConfig struct {
	ID    uint64 // ID in the completions of receives
	PD    PD     // protection domain of the memory in work requests
	Sends CQ     // queue for completions of work requests
	Recvs CQ     // queue for completions of receives; may be Sends
	Pool  Pool   // pool of receive buffers, which queue pairs share
	// MaxSends bounds the work requests that are posted and not done.
	MaxSends int // most work requests that are not completed
}

// ConnConfig has the parameters of a connection that is requested or accepted.
type ConnConfig struct {
	QP QPConfig // configuration of this side's queue pair
	// SrcPort is the source port that the request claims (1 to 1023 if the peer asks for a
	// privileged one). The accepting side does not use it.
	SrcPort uint16
	// TrafficClass is the TOS of all packets, of both sides: the accepting one takes
	// it from the request.
	TrafficClass uint8 // traffic class of packets (the TOS byte)
	MTU          int   // path MTU; 0: the device's; an accepting side takes the request's
	// RetryCount and RNRRetryCount, 0 to 7, are sent to the peer, which uses them.
	RetryCount    uint8
	RNRRetryCount uint8         // 0 to 7 retries after RNR NAKs; 7: no limit
	Timeout       time.Duration // time limit of the whole connection request; 0: as long as the CM tries
	Private       []byte        // private data for the peer, which is copied
	// Claimed says that this side requests the connection only because packets came in the peer's name. These may be
	// forged, and the peer may not exist, so the request must not delay others. The accepting side does not use this
	// field.
	Claimed bool
}

// Listener is a port on which connections are accepted.
type Listener interface {
	// Close refuses further requests. Requests that the consumer has not answered stay valid.
	Close() error
}

// Request is a request of a peer for a connection. The consumer calls exactly one of Accept
// and Reject, once.
type Request interface {
	// Peer is the address of the peer, and the port that it claims to have.
	Peer() netip.AddrPort
	// Private is the private data of the peer: MaxRequestPrivate bytes, of which the last may
	// be padding. It is valid until Accept or Reject.
	Private() []byte
	// Accept makes the connection. Messages may arrive when it returns; Established follows.
	// It fails if the peer has gone away, or if the queue pair cannot be made: then the
	// request is refused.
	Accept(cfg ConnConfig, events func(Conn, Event)) (Conn, error)
	// Reject refuses the request, with private data for the peer.
	Reject(private []byte) error
}

// Conn is a connection together with its queue pair.
type Conn interface {
	// QPN is the number of the queue pair at this side.
	QPN() uint32
	// PostSend posts work requests, all of them or none. It fails with ErrFull, with ErrClosed, and,
	// at the requesting side before Established, with ErrState. After an error of the connection it
	// does not fail: the work requests complete as Flushed.
	PostSend(wrs []SendWR) error
	// Disconnect ends the connection: posted work requests complete as Flushed, the peer gets a
	// disconnect request, and the event Disconnected follows. Received messages that the
	// consumer has stay valid. A second call does nothing.
	Disconnect()
	// Close frees the connection if its last event has come. Otherwise it disconnects first, and no
	// event follows.
	Close()
}

// Transporter is a Conn that tells the state of its transport, for diagnosis.
type Transporter interface {
	Transport() TransportState
}

// TransportState is the state of the sending half of a reliable connection.
type TransportState struct {
	InFlight int           // packets that have left and are not acknowledged
	Unsent   int           // packets of posted work requests that have not left, or will leave again
	Window   int           // bound of InFlight
	RTT      time.Duration // smoothed round-trip time; 0: not measured yet
	Silent   time.Duration // time since the peer's last progress, while packets are in flight; else 0
	Retries  int           // ACK timeouts since the peer's last progress
}

// EventKind is the kind of an event of a connection.
type EventKind uint8

// The kinds of events. A connection has at most one Established, and its last event is one of the
// other kinds.
const (
	Established  EventKind = iota + 1
	Rejected               // the peer rejected the request, or this side rejected what the peer granted
	Unreachable            // no answer came in time, or there is no route to the peer
	Disconnected           // the peer, Disconnect, or a failure has ended the connection: see Status
)

// Event tells of a change of a connection.
type Event struct {
	Kind EventKind // says which of the other fields are set
	// Private is the private data of the peer, in Established at the requesting side
	// (MaxAcceptPrivate bytes) and in Rejected (MaxRejectPrivate). It is valid during the
	// upcall.
	Private []byte
	// Reason of Rejected is the CM's reason code: 28 if the peer's consumer rejected the request, 8 if
	// there is no listener, 10 if the peer takes this connection for an older one, 26 if the path MTU is too large for
	// the peer, or has become too large for this side since the request.
	Reason uint16
	// Status of Disconnected is Success, or the error that ended the connection.
	Status Status
}

// UDConfig has the parameters of a queue pair for datagrams.
type UDConfig struct {
	ID           uint64 // ID in the completions of receives
	PD           PD     // protection domain of the memory in work requests
	Sends, Recvs CQ     // Sends: completion queue of datagrams that were sent; Recvs: of datagrams that were received
	Pool         Pool   // pool of receive buffers, which queue pairs share
	MaxSends     int    // most work requests that are not completed
	QKey         uint32 // Q_Key that received datagrams must have
	TrafficClass uint8  // traffic class of packets (the TOS byte)
}

// UD is a queue pair for datagrams. A datagram is delivered whole, in any order; it may also
// be lost, or delivered again if the network repeats it. It is not delivered to the queue
// pair that sent it. A datagram that the system refuses to send completes as General, or as
// LocalLength if the network's packets have become shorter, and later ones are still sent.
type UD interface {
	QPN() uint32
	// Join receives datagrams that are sent to a group, until Leave or Close.
	Join(group netip.Addr) error
	Leave(group netip.Addr) error
	// PostSend posts datagrams, all of them or none. It fails with ErrFull, ErrTooLarge
	// and ErrClosed.
	PostSend(list []Datagram) error
	// Close ends the queue pair. Posted datagrams complete as Flushed.
	Close()
}
