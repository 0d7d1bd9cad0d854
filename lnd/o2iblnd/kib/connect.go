package kib

import (
	"errors"
	"fmt"
)

// ParamsSize is the length of connection parameters in bytes.
const ParamsSize = 8

// ConnParams are the parameters of a connection (struct kib_connparams).
type ConnParams struct {
	QueueDepth uint16 // messages that need a credit, in flight each way
	MaxFrags   uint16 // RDMA WRITEs that the writer may need for a transfer
	MaxMsgSize uint32 // the longest message in bytes
}

func (p *ConnParams) parse(b []byte, o byteOrder) {
	p.QueueDepth = o.Uint16(b)     // field ibcp_queue_depth of struct kib_connparams
	p.MaxFrags = o.Uint16(b[2:])   // field ibcp_max_frags of struct kib_connparams
	p.MaxMsgSize = o.Uint32(b[4:]) // field ibcp_max_msg_size of struct kib_connparams
}

func (p *ConnParams) appendTo(b []byte, o byteOrder) []byte {
	b = o.AppendUint16(b, p.QueueDepth)    // field ibcp_queue_depth of struct kib_connparams
	b = o.AppendUint16(b, p.MaxFrags)      // field ibcp_max_frags of struct kib_connparams
	return o.AppendUint32(b, p.MaxMsgSize) // field ibcp_max_msg_size of struct kib_connparams
}

// Why is the reason in a reject of a connection.
type Why uint8

// The reasons, with o2iblnd's numbers.
const (
	ConnRace     Why = 1 // both sides connect, and the sender's own request wins
	NoResources  Why = 2
	Fatal        Why = 3 // the request is invalid
	ConnUncompat Why = 4 // the versions of the sides are not compatible
	ConnStale    Why = 5 // the request names an earlier incarnation of the sender, or the sender has connections to an earlier one of the requester
	RDMAFrags    Why = 6 // too many fragments: Reject.Params offers fewer
	MsgQueueSize Why = 7 // too many messages in flight: Reject.Params offers fewer
	InvalidSrvID Why = 8
	Early        Why = 9 // the NI of the sender is still starting
)

var whyNames = [...]string{
	ConnRace: "CONN_RACE", NoResources: "NO_RESOURCES", Fatal: "FATAL", ConnUncompat: "CONN_UNCOMPAT", ConnStale: "CONN_STALE",
	RDMAFrags: "RDMA_FRAGS", MsgQueueSize: "MSG_QUEUE_SIZE", InvalidSrvID: "INVALID_SRV_ID", Early: "EARLY",
}

// String returns the name, such as "CONN_RACE" or "why 77".
func (w Why) String() string {
	if int(w) < len(whyNames) && w > 0 {
		return whyNames[w]
	}
	return fmt.Sprintf("why %d", uint8(w))
}

// RejectSize is the length of a reject in bytes; the first minReject of them
// are enough to be understood.
const (
	RejectSize = 24
	minReject  = 7
)

// Reject refuses a connection, in the private data of a CM REJ whose reason is
// "consumer defined" (struct kib_rej):
//
//	0  4  magic      8  8  incarnation, 0 if there is no such NI
//	4  2  version   16  8  connection parameters that would be accepted
//	6  1  why
type Reject struct {
	BigEndian bool    // the sender is a big-endian host
	Version   Version // version of the rejected request if that was understood, else V2
	Why       Why     // the reason of the reject
	// Complete tells that the fields below were in the reject: rejects of version 1 end before them.
	Complete bool
	Stamp    uint64     // incarnation stamp of the sender
	Params   ConnParams // parameters that the sender would accept
}

// ParseReject parses the private data of a CM REJ. It accepts the magic of
// the unified protocol, too. The errors are ErrShort, ErrMagic and ErrVersion.
func ParseReject(b []byte) (r Reject, err error) {
	if len(b) < minReject {
		return Reject{}, ErrShort
	}
	r.Version, r.BigEndian, err = ParsePrefix(b)
	if errors.Is(err, errUnifiedMagic) {
		err = nil
	}
	if err == nil && !r.Version.IsValid() {
		err = ErrVersion
	}
	if err != nil {
		return r, err
	}
	o := byteOrder(r.BigEndian)
	r.Why = Why(b[6]) // field ibr_why of struct kib_rej
	if r.Complete = len(b) >= RejectSize && r.Version > V1; r.Complete {
		r.Stamp = o.Uint64(b[8:]) // field ibr_incarnation of struct kib_rej
		r.Params.parse(b[16:], o) // field ibr_cp of struct kib_rej
	}
	return r, nil
}

// AppendTo appends all 24 bytes, whether r is Complete or not.
func (r *Reject) AppendTo(b []byte) []byte {
	o := byteOrder(r.BigEndian)
	b = o.AppendUint32(b, Magic)             // field ibr_magic of struct kib_rej
	b = o.AppendUint16(b, uint16(r.Version)) // field ibr_version of struct kib_rej
	b = append(b, byte(r.Why), 0)            // fields ibr_why and ibr_padding of struct kib_rej
	b = o.AppendUint64(b, r.Stamp)           // field ibr_incarnation of struct kib_rej
	return r.Params.appendTo(b, o)           // field ibr_cp of struct kib_rej
}
