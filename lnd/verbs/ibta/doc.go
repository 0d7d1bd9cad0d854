// Package ibta is the wire format of RoCEv2 as far as o2iblnd and multicast
// need it: the headers of reliable connections (RC) and datagrams (UD), the
// invariant CRC, and the messages of the connection manager (CM) with what
// RDMA-CM puts into them (InfiniBand Architecture Specification vol. 1,
// annexes A11 and A17).
//
// It does no I/O and keeps no state. Nothing allocates except what turns
// values into text; Parse functions return slices of their input for private data and
// payload. RDMA READ, atomics, unreliable connections and invalidation are
// known by name only. All of the package is safe for concurrent use.
//
// # Packet
//
// The payload of a UDP datagram to port 4791, big-endian throughout:
//
//	BTH 12 | DETH 8, RETH 16, AETH 4, ImmDt 4 | payload | pad 0…3 | ICRC 4
//
// Which of the extended headers are there depends on the [OpCode] alone.
//
//	BTH                                RETH
//	 0  opcode                          0  8  virtual address
//	 1  b7 solicited event, b6 M,       8  4  rkey
//	    b5-4 pad count, b3-0 version   12  4  length of the whole message
//	 2  2  P_Key                       AETH
//	 4  b7 FECN, b6 BECN                0  1  syndrome
//	 5  3  destination QPN              1  3  MSN
//	 8  b7 AckReq                      DETH
//	 9  3  PSN                          0  4  Q_Key
//	                                    5  3  source QPN
//
// # CM message
//
// A UD SEND ONLY from and to QP 1 whose payload is a MAD of 256 bytes:
//
//	0  1  base version 1          8  8  transaction id
//	1  1  management class 7     16  2  attribute: REQ, REP, …
//	2  1  class version 2        20  4  attribute modifier
//	3  1  method 3               24     232 bytes of the attribute
//	4  2  status
//
// The attributes are laid out at their types: [REQ], [REP], [REJ], [MRA],
// [RTU], [DREQ] and [DREP].
package ibta

import "errors"

// Port is the UDP port to which all packets go, requests and responses.
const Port = 4791

// Errors of parsing, one for each counter of the callers.
var (
	// ErrShort means that the bytes end inside what is parsed.
	ErrShort = errors.New("packet is cut short")
	// ErrVersion means a transport header version other than 0.
	ErrVersion = errors.New("unknown transport header version")
	// ErrOpCode means an operation that this package does not know.
	ErrOpCode = errors.New("unknown opcode")
	// ErrPad means a pad count above the bytes that are there.
	ErrPad = errors.New("more padding than payload")
	// ErrMAD means a management datagram that is not of the CM.
	ErrMAD = errors.New("not a message of the connection manager")
	// ErrAttribute means a CM message of a kind that this package does not know.
	ErrAttribute = errors.New("unknown CM message")
	// ErrIPCM means private data of a REQ that does not begin with RDMA-CM's
	// header of version 0 for IPv4 or IPv6.
	ErrIPCM = errors.New("not an RDMA-CM header for IP")
)
