package verbs

import (
	"fmt"
	"net/netip"
)

// Op is the operation of a work request.
type Op uint8

// Operations of work requests.
const (
	Send Op = iota
	Write
	Receive // only in completions
)

var opNames = [...]string{Send: "SEND", Write: "RDMA WRITE", Receive: "RECEIVE"}

// String returns the operation's name, such as "RDMA WRITE".
func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return fmt.Sprintf("operation %d", uint8(o))
}

// SendWR is a work request. When it is posted, it and its slice of pieces belong to the
// caller again, but the memory that the pieces refer to does not.
type SendWR struct {
	ID       uint64 // ID that the completion returns
	Op       Op     // operation: Send or Write
	Pieces   []SGE  // bytes of the message, gathered in order; empty: the message has no bytes
	Signaled bool   // a completion is wanted; one in error comes in any case
	// Remote is where a Write goes: one range, in one region of the peer.
	Remote Frag
	RKey   uint32 // remote key of the peer's region
}

// Datagram is a work request of a UD queue pair.
type Datagram struct {
	ID       uint64     // ID that the completion returns
	Pieces   []SGE      // payload: at most DeviceAttr.MTU bytes together
	Signaled bool       // whether a success has a completion, too
	To       netip.Addr // address of a node or a group
	QPN      uint32     // queue pair of the receiver; MulticastQPN for a group
	QKey     uint32     // Q_Key of the receiver
}

// MulticastQPN is the queue pair number of a group.
const MulticastQPN = 0xFFFFFF

// Completion is a work request that is done, or a message that arrived.
type Completion struct {
	ID     uint64 // ID of the work request; a Receive has the ID of its queue pair
	QPN    uint32 // number of the queue pair
	Op     Op     // operation that has completed
	Status Status // Success, or why the operation failed
	// Buffer is the message that a Receive brought. It belongs to the consumer until
	// Pool.Return.
	Buffer Buffer
	// SrcAddr is the address of a datagram's sender.
	SrcAddr netip.Addr
	SrcQPN  uint32     // queue pair of the datagram's sender
	Group   netip.Addr // group that the datagram was sent to; the zero Addr: to this node
}

// Status is the outcome of a work request. The numbers are those of libibverbs (IBV_WC_*).
type Status uint8

// The outcomes. After the first error of a queue pair all later work requests are Flushed.
const (
	Success          Status = 0
	LocalLength      Status = 1
	LocalProtection  Status = 4
	Flushed          Status = 5
	RemoteInvalid    Status = 9
	RemoteAccess     Status = 10
	RemoteOperation  Status = 11
	RetryExceeded    Status = 12
	RNRRetryExceeded Status = 13
	Fatal            Status = 19
	General          Status = 21
)

var statusNames = map[Status]string{
	Success: "success", LocalLength: "local length error", LocalProtection: "local protection error", Flushed: "flushed",
	RemoteInvalid: "remote invalid request", RemoteAccess: "remote access error", RemoteOperation: "remote operation error",
	RetryExceeded: "transport retries exceeded", RNRRetryExceeded: "RNR retries exceeded", Fatal: "fatal error", General: "general error",
}

// String returns the status in words, such as "success".
func (s Status) String() string {
	if name, ok := statusNames[s]; ok {
		return name
	}
	return fmt.Sprintf("status %d", uint8(s))
}

// Error makes a Status an error. Success is no error: do not return it as one.
func (s Status) Error() string { return s.String() }
