package ibta

import "fmt"

// OpCode tells what a packet is: transport and operation.
type OpCode uint8

// Opcodes that o2iblnd and multicast use.
const (
	SendFirst     OpCode = 0x00
	SendMiddle    OpCode = 0x01
	SendLast      OpCode = 0x02
	SendLastImm   OpCode = 0x03
	SendOnly      OpCode = 0x04
	SendOnlyImm   OpCode = 0x05
	WriteFirst    OpCode = 0x06
	WriteMiddle   OpCode = 0x07
	WriteLast     OpCode = 0x08
	WriteLastImm  OpCode = 0x09
	WriteOnly     OpCode = 0x0A
	WriteOnlyImm  OpCode = 0x0B
	Acknowledge   OpCode = 0x11
	UDSendOnly    OpCode = 0x64
	UDSendOnlyImm OpCode = 0x65
	CNP           OpCode = 0x81 // congestion notification packet
)

// Parts of which an opcode is made.
const (
	isSend = 1 << iota
	isWrite
	begins // the packet is the first of its message
	ends   // the packet is the last of its message
	hasDETH
	hasRETH
	hasAETH
	hasImm
	known
)

// parts has the parts of each known opcode.
var parts = [256]uint16{
	SendFirst:     known | isSend | begins,
	SendMiddle:    known | isSend,
	SendLast:      known | isSend | ends,
	SendLastImm:   known | isSend | ends | hasImm,
	SendOnly:      known | isSend | begins | ends,
	SendOnlyImm:   known | isSend | begins | ends | hasImm,
	WriteFirst:    known | isWrite | begins | hasRETH,
	WriteMiddle:   known | isWrite,
	WriteLast:     known | isWrite | ends,
	WriteLastImm:  known | isWrite | ends | hasImm,
	WriteOnly:     known | isWrite | begins | ends | hasRETH,
	WriteOnlyImm:  known | isWrite | begins | ends | hasRETH | hasImm,
	Acknowledge:   known | hasAETH,
	UDSendOnly:    known | isSend | begins | ends | hasDETH,
	UDSendOnlyImm: known | isSend | begins | ends | hasDETH | hasImm,
	CNP:           known,
}

func (o OpCode) has(part uint16) bool { return parts[o]&part != 0 }

// IsKnown reports whether this package can parse packets with o.
func (o OpCode) IsKnown() bool { return o.has(known) }

// IsSend reports whether o is part of a SEND, of either transport.
func (o OpCode) IsSend() bool { return o.has(isSend) }

// IsWrite reports whether o is part of an RDMA WRITE.
func (o OpCode) IsWrite() bool { return o.has(isWrite) }

// IsFirst reports whether a message begins: FIRST or ONLY.
func (o OpCode) IsFirst() bool { return o.has(begins) }

// IsLast reports whether a message ends: LAST or ONLY.
func (o OpCode) IsLast() bool { return o.has(ends) }

// IsRequest reports whether o goes from requester to responder.
func (o OpCode) IsRequest() bool { return o.has(isSend | isWrite) }

// IsUD reports whether o is of the datagram transport.
func (o OpCode) IsUD() bool { return o.has(hasDETH) }

// HasImmediate reports whether packets with o have four bytes of immediate data.
func (o OpCode) HasImmediate() bool { return o.has(hasImm) }

// HeaderSize returns the bytes of BTH and extended headers.
func (o OpCode) HeaderSize() int {
	n := BTHSize
	if o.has(hasDETH) {
		n += DETHSize
	}
	if o.has(hasRETH) {
		n += RETHSize
	}
	if o.has(hasAETH) {
		n += aethSize
	}
	if o.has(hasImm) {
		n += immSize
	}
	if o == CNP {
		n += cnpReserved
	}
	return n
}

// cnpReserved are the zero bytes behind the BTH of a CNP.
const cnpReserved = 16

var opNames = map[OpCode]string{
	SendFirst: "SEND FIRST", SendMiddle: "SEND MIDDLE", SendLast: "SEND LAST", SendLastImm: "SEND LAST with immediate",
	SendOnly: "SEND ONLY", SendOnlyImm: "SEND ONLY with immediate",
	WriteFirst: "WRITE FIRST", WriteMiddle: "WRITE MIDDLE", WriteLast: "WRITE LAST", WriteLastImm: "WRITE LAST with immediate",
	WriteOnly: "WRITE ONLY", WriteOnlyImm: "WRITE ONLY with immediate",
	0x0C: "READ REQUEST", 0x0D: "READ RESPONSE FIRST", 0x0E: "READ RESPONSE MIDDLE", 0x0F: "READ RESPONSE LAST",
	0x10: "READ RESPONSE ONLY", Acknowledge: "ACKNOWLEDGE", 0x12: "ATOMIC ACKNOWLEDGE", 0x13: "COMPARE & SWAP",
	0x14: "FETCH & ADD", 0x16: "SEND LAST with invalidate", 0x17: "SEND ONLY with invalidate",
	UDSendOnly: "UD SEND ONLY", UDSendOnlyImm: "UD SEND ONLY with immediate", CNP: "CNP",
}

// String returns "SEND ONLY", "WRITE FIRST" or "opcode 0x2a".
func (o OpCode) String() string {
	if s, ok := opNames[o]; ok {
		return s
	}
	return fmt.Sprintf("opcode %#02x", uint8(o))
}
