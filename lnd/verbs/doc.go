// Package verbs is the part of RDMA that o2iblnd and multicast use: reliable connections (RC)
// that carry SENDs and RDMA WRITEs, datagrams (UD), and the connection manager that makes
// connections. Providers implement it: package softroce in Go over UDP, package ibv with
// libibverbs where there is hardware.
//
// Features that ulnet does not use are left out: RDMA READ, atomics, immediate data,
// invalidation, and unreliable connections. The consumer does not set the states of queue pairs
// (INIT, RTR, RTS): the connection manager does that.
//
// # Ownership of memory
//
//	registered, [MR]      It belongs to the consumer. The provider reads it from
//	                      PostSend to the completion. The peer may write to it
//	                      from Register to Deregister.
//	not registered        It belongs to the consumer. The provider copies it
//	                      before PostSend returns.
//	received, [Buffer]    It belongs to the provider. The consumer may use it
//	                      from the completion to Return.
//
// After the completion of a work request, also one in error, the provider does not
// touch its memory. After Deregister has returned, no packet of a peer is written to the memory,
// however late the packet comes: Deregister waits for a packet that is being written. A consumer
// that gives up a transfer deregisters its memory before it reports the end.
//
// A registration of memory that Go allocated keeps it alive and pinned.
//
// # Threads
//
// Every method is safe for concurrent use and does not block, except where its comment says so.
// Completions and events are upcalls, made without a lock of the provider, so that they may
// post; they must not block: meanwhile a device may read nothing ([AbsenceMeter]). The upcalls of
// one CQ, and those of one connection, come one at a time. A goroutine that has taken over the
// read loop of the device ([ReadLooper]) makes the upcalls for everything that it reads, of every
// CQ. A method may make upcalls before it returns, for example for the work requests that
// Disconnect flushes. So do not call methods while holding a lock that an upcall takes. There is
// no queue between the packet and the upcall: the RDMA ACK of a message may leave after the
// consumer has seen the message, together with the answer.
//
// # Order
//
// Work requests of a queue pair are done in the order in which they were posted,
// and so are their completions. The data of RDMA WRITEs is there when a SEND that
// was posted after them completes at the receiver. Between queue pairs there is no order. A
// connection's first messages may arrive before its [Established]; after its [Disconnected]
// no upcall of its queue pair follows, except for the completions in error of posted work
// requests.
package verbs

import (
	"errors"
	"net/netip"
)

// The errors of this package's methods. Those of work requests are a [Status].
var (
	ErrClosed   = errors.New("closed")
	ErrFull     = errors.New("too many work requests are posted")
	ErrTooLarge = errors.New("larger than the device can")
	ErrState    = errors.New("not connected")
)

// Device is an RDMA device at one address of this node. Several NIs may share
// one; each has a protection domain of its own.
type Device interface {
	// Attr describes the device. While it is open only its MTU may change, when the link of the
	// interface comes up, but never becomes larger than it was at first.
	Attr() DeviceAttr
	// NewPD makes a protection domain.
	NewPD() (PD, error)
	// NewCQ makes a completion queue for at least depth posted work requests, those of
	// all its queue pairs together. It becomes longer if need be, so that all of its queue
	// pairs can have MaxSends work requests posted at the same time. done gets the completions,
	// some at a time; the batch is valid during the call.
	NewCQ(depth int, done func(batch []Completion)) (CQ, error)
	// Listen takes requests for connections to a port. request is called once for each.
	// Then, or later, the consumer answers with Accept or Reject.
	Listen(port uint16, request func(Request)) (Listener, error)
	// Connect requests a connection. events gets its events, the first one perhaps before
	// Connect has returned.
	Connect(to netip.AddrPort, cfg ConnConfig, events func(Conn, Event)) (Conn, error)
	// NewUD makes a queue pair for datagrams.
	NewUD(cfg UDConfig) (UD, error)
	// Close ends all objects of the device, with completions and events in error, and returns
	// when no upcall will follow. It may block.
	Close() error
}

// DeviceAttr describes a device.
type DeviceAttr struct {
	Addr netip.Addr // IP address of the device, which is its GID
	GUID uint64     // GUID of the channel adapter
	MTU  int        // most payload bytes of a packet: 256 to 4096
	// FixedMTU says that the packets of connections that this side opens have MTU bytes: Connect refuses other
	// values of ConnConfig.MTU.
	FixedMTU bool
	Frags    int // most fragments of a region; see MR.Frags
	SGEs     int // most pieces of memory of a work request
}

// PD is a protection domain: queue pairs can use only the memory of their own domain.
type PD interface {
	// Register registers memory, in pieces that follow each other as seen by the peer.
	// It fails with ErrTooLarge, and with errors of the operating system.
	Register(pieces [][]byte, access Access) (MR, error)
	// NewPool makes a pool of receive buffers.
	NewPool(cfg PoolConfig) (Pool, error)
	// Close ends the domain. Its regions and pools must be closed before.
	Close() error
}

// CQ is a completion queue.
type CQ interface {
	// Close ends the queue; its queue pairs must be closed before. It returns when no
	// upcall will follow, and so must not be called from one. It may block.
	Close() error
}
