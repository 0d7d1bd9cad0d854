package wire

import (
	"errors"
	"fmt"
	"slices"

	"ulnet/lnet/nid"
)

// Where nodes answer pings and take pushes: a ping is a GET, a push a PUT, and
// both carry a PingInfo.
const (
	PingPortal           = 0                  // LNET_RESERVED_PORTAL
	PingMatchBits uint64 = 0x8000000000000000 // LNET_PROTO_PING_MATCHBITS
)

// pingMagic begins every ping info (LNET_PROTO_PING_MAGIC).
const pingMagic uint32 = 0x70696E67

const (
	pingHeaderSize = 16
	niStatusSize   = 16
	largeEntryHead = 12 // bytes of a large entry that are always there: its status, and the first 8 bytes of its NID
)

// MinPingEntries is a number of entries, 0@lo included. A node that does not know how many NIs a peer has
// takes a buffer for so many, at least (LNET_INTERFACES_MIN).
const MinPingEntries = 16

// maxPingNIs is the largest number of NIs that a ping info may list.
const maxPingNIs = 4096

// Errors of ping info, next to ErrShort and ErrMagic.
var (
	ErrNIStatus = errors.New("ping info without the NI_STATUS feature")
	ErrNICount  = fmt.Errorf("ping info with no NI or more than %d", maxPingNIs)
	ErrNoLo     = errors.New("ping info does not begin with 0@lo")
	errPingSize = errors.New("ping info claims to be larger than a message")
	errAnyNID   = errors.New("wildcard NID in ping info")
)

// TruncatedError reports a ping info that was cut off: a node sends only the beginning of an
// info that is larger than the buffer offered to it. It is an ErrShort.
type TruncatedError struct {
	Size int // length of the whole info in bytes, as far as known
}

func (e *TruncatedError) Error() string {
	return fmt.Sprintf("ping info cut: it has %d bytes", e.Size)
}

// Is makes a TruncatedError an ErrShort.
func (e *TruncatedError) Is(target error) bool { return target == ErrShort }

// Status is the status of an NI in a ping info.
type Status uint32

// Statuses of an NI (LNET_NI_STATUS_*).
const (
	StatusInvalid Status = 0
	StatusUp      Status = 0x15aac0de
	StatusDown    Status = 0xdeadface
)

// String returns "up", "down", "invalid" or the number in hex.
func (s Status) String() string {
	switch s {
	case StatusInvalid:
		return "invalid"
	case StatusUp:
		return "up"
	case StatusDown:
		return "down"
	}
	return fmt.Sprintf("%#x", uint32(s))
}

// NIStatus is one network interface in a PingInfo (struct lnet_ni_status,
// struct lnet_ni_large_status).
type NIStatus struct {
	NID    nid.NID `json:"nid"`    // NID of the interface
	Status Status  `json:"status"` // status of the interface: up or down
}

// PingInfo is the list of a node's NIs and features (struct lnet_ping_info): the payload of
// the REPLY to a ping and of a push.
//
//	off  size  field
//	0    4     magic
//	4    4     features
//	8    4     pid
//	12   4     number of entries of 16 bytes that follow
//	16   16    first entry: NID 0@lo, sequence number, bytes of the whole info
//	           if large entries follow, otherwise 0
//	32   16    further entries: nid4, status, 0
//	..         large entries: status (4), size byte and NID (8 + size), padding
//	           to a multiple of 4
type PingInfo struct {
	// Features as received. On sending, FeatureLargeAddr, FeaturePrimaryLarge and
	// FeatureMetadata are derived from the other fields, and their bits here are ignored.
	Features Features
	PID      nid.PID // PID of the node
	Sequence uint32  // sequence number of the list of NIs; grows with each change
	// NIs are the node's interfaces without 0@lo, the primary NID first. On
	// the wire those with a nid4 precede the large ones.
	NIs       []NIStatus
	BigEndian bool // the sender is a big-endian host
}

// PingInfoSize returns the length in bytes of a ping info with the given
// number of entries, 0@lo included, of which none is large.
func PingInfoSize(entries int) int { return pingHeaderSize + niStatusSize*entries }

// Size returns the length of p on the wire in bytes.
func (p PingInfo) Size() int {
	size := PingInfoSize(1)
	for _, ni := range p.NIs {
		if ni.NID.Is4() {
			size += niStatusSize
		} else {
			size += largeEntrySize(ni.NID.AddrLen())
		}
	}
	return size
}

// largeEntrySize returns the length of a large entry whose address has addrLen bytes,
// padding included.
func largeEntrySize(addrLen int) int { return (4 + 4 + addrLen + 3) &^ 3 }

// AppendBinary appends p. The errors are ErrNICount and errAnyNID; b is
// returned unchanged then.
func (p PingInfo) AppendBinary(b []byte) ([]byte, error) {
	if len(p.NIs) > maxPingNIs {
		return b, ErrNICount
	}
	entries := 1
	for _, ni := range p.NIs {
		if ni.NID.IsAny() {
			return b, errAnyNID
		}
		if ni.NID.Is4() {
			entries++
		}
	}
	o := order(p.BigEndian)
	features, msgSize := p.layout()
	b = o.AppendUint32(b, pingMagic)          // pi_magic
	b = o.AppendUint32(b, uint32(features))   // pi_features
	b = o.AppendUint32(b, uint32(p.PID))      // pi_pid
	b = o.AppendUint32(b, uint32(entries))    // pi_nnis
	b = o.AppendUint64(b, nid.Lo0().Value4()) // pi_ni[0].ns_nid
	b = o.AppendUint32(b, p.Sequence)         // pi_ni[0].ns_status
	b = o.AppendUint32(b, msgSize)            // pi_ni[0].ns_msg_size
	return p.appendLarge(p.append4(b)), nil
}

// layout returns the features with the bits that depend on NIs, and the size that is written
// into the first entry.
func (p PingInfo) layout() (f Features, msgSize uint32) {
	f = p.Features &^ (FeatureLargeAddr | FeaturePrimaryLarge | FeatureMetadata)
	if !slices.ContainsFunc(p.NIs, func(ni NIStatus) bool { return !ni.NID.Is4() }) {
		return f, 0
	}
	f |= FeatureLargeAddr
	if !p.NIs[0].NID.Is4() {
		f |= FeaturePrimaryLarge
	}
	return f, uint32(p.Size())
}

func (p PingInfo) append4(b []byte) []byte {
	o := order(p.BigEndian)
	for _, ni := range p.NIs {
		if ni.NID.Is4() {
			b = o.AppendUint64(b, ni.NID.Value4())   // ns_nid
			b = o.AppendUint32(b, uint32(ni.Status)) // ns_status
			b = o.AppendUint32(b, 0)                 // ns_msg_size
		}
	}
	return b
}

func (p PingInfo) appendLarge(b []byte) []byte {
	o := order(p.BigEndian)
	for _, ni := range p.NIs {
		if !ni.NID.Is4() {
			end := len(b) + largeEntrySize(ni.NID.AddrLen())
			b = o.AppendUint32(b, uint32(ni.Status)) // ns_status
			b = ni.NID.AppendExtended(b)[:end]       // ns_nid; padding after the address is zero
		}
	}
	return b
}
