package ksock

import "strconv"

// ConnType is what a connection is used for, as the sender of the HELLO sees it (SOCKLND_CONN_*).
type ConnType int32

// The connection types. An initiator opens one Control connection and at
// least one of each bulk type; Any is used by v2 nodes without typed
// connections.
const (
	None    ConnType = -1 // in an answer: the connection is refused, and the initiator has to dial again
	Any     ConnType = 0
	Control ConnType = 1
	BulkIn  ConnType = 2
	BulkOut ConnType = 3
)

// Invert returns the type as the other end sees it: what is bulk in here is
// bulk out there. All other types are their own inverse.
func (t ConnType) Invert() ConnType {
	switch t {
	case BulkIn:
		return BulkOut
	case BulkOut:
		return BulkIn
	}
	return t
}

// IsValid reports whether t is one of the five known types.
func (t ConnType) IsValid() bool { return t >= None && t <= BulkOut }

// String returns Lustre's name of the type, the number if it has none.
func (t ConnType) String() string {
	switch t {
	case None:
		return "NONE"
	case Any:
		return "ANY"
	case Control:
		return "CONTROL"
	case BulkIn:
		return "BULK_IN"
	case BulkOut:
		return "BULK_OUT"
	}
	return strconv.Itoa(int(t))
}
