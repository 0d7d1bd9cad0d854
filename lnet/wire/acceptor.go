package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"ulnet/lnet/nid"
)

// AcceptorMagic begins every acceptor request (LNET_PROTO_ACCEPTOR_MAGIC).
const AcceptorMagic uint32 = 0xacce7100

// genericMagic is the magic of LNet as a whole (LNET_PROTO_MAGIC).
const genericMagic uint32 = 0x45726963

// Versions of the acceptor request, and the size of each in bytes.
const (
	AcceptorVersion1 uint32 = 1 // version in which the NID is a nid4
	AcceptorVersion2 uint32 = 2 // the NID is extended; for NIDs that need it

	AcceptorPrefixSize = 8 // size of magic and version
	AcceptorV1Size     = 16
	AcceptorV2Size     = 28
)

// Errors of acceptor requests; ErrMagic is an error of ping info, too. A kernel acceptor
// answers ErrVersion and ErrGenericMagic with AcceptorRefusal before it closes the connection,
// and closes it silently on every other error.
var (
	ErrMagic        = errors.New("wrong magic")
	ErrGenericMagic = fmt.Errorf("%w: LNet's in place of the acceptor's", ErrMagic)
	ErrVersion      = errors.New("unknown version")
)

// AcceptorRequest is the first message of the dialling side of a TCP connection (struct
// lnet_acceptor_connreq): the NID that it wants to reach. The acceptor does not answer a
// request that it grants.
type AcceptorRequest struct {
	Version   uint32  // 1, or 2 for a NID that does not fit a nid4
	NID       nid.NID // NID that the dialling side wants to reach
	BigEndian bool    // the sender is a big-endian host
}

// NewAcceptorRequest returns the request for target in the lowest version that
// can express it.
func NewAcceptorRequest(target nid.NID) AcceptorRequest {
	if fits4(target) {
		return AcceptorRequest{Version: AcceptorVersion1, NID: target}
	}
	return AcceptorRequest{Version: AcceptorVersion2, NID: target}
}

// AcceptorRefusal returns the answer to a request of an unknown version: a
// request of the version that the acceptor knows, without a NID.
func AcceptorRefusal() AcceptorRequest {
	return AcceptorRequest{Version: AcceptorVersion1}
}

// AppendBinary appends r. The errors are ErrVersion and, in version 1,
// ErrLargeNID; b is returned unchanged then.
func (r AcceptorRequest) AppendBinary(b []byte) ([]byte, error) {
	o := order(r.BigEndian)
	switch {
	case r.Version != AcceptorVersion1 && r.Version != AcceptorVersion2:
		return b, ErrVersion
	case r.Version == AcceptorVersion1 && !fits4(r.NID):
		return b, ErrLargeNID
	}
	b = o.AppendUint32(b, AcceptorMagic) // acr_magic
	b = o.AppendUint32(b, r.Version)     // acr_version
	if r.Version == AcceptorVersion1 {
		return o.AppendUint64(b, r.NID.Value4()), nil // acr_nid
	}
	return r.NID.AppendExtended(b), nil // acr_nid
}

// AcceptorRequestSize returns the size of a request that begins with b, as far as b shows it.
// If b is shorter than AcceptorPrefixSize, it returns that; otherwise the size of the request's
// version. The request is complete when len(b) has reached the result. Errors: ErrMagic, which
// is known from 4 bytes on, ErrGenericMagic, and ErrVersion.
func AcceptorRequestSize(b []byte) (int, error) {
	if len(b) < 4 {
		return AcceptorPrefixSize, nil
	}
	bigEndian, err := acceptorOrder(b)
	if err != nil {
		return 0, err
	}
	if len(b) < AcceptorPrefixSize {
		return AcceptorPrefixSize, nil
	}
	switch order(bigEndian).Uint32(b[4:]) {
	case AcceptorVersion1:
		return AcceptorV1Size, nil
	case AcceptorVersion2:
		return AcceptorV2Size, nil
	}
	return 0, ErrVersion
}

// ParseAcceptorRequest parses a request. The errors are those of
// AcceptorRequestSize, ErrShort, and nid.ErrSize.
func ParseAcceptorRequest(b []byte) (r AcceptorRequest, rest []byte, err error) {
	size, err := AcceptorRequestSize(b)
	if err != nil {
		return AcceptorRequest{}, b, err
	}
	if len(b) < AcceptorPrefixSize || len(b) < size {
		return AcceptorRequest{}, b, ErrShort
	}
	r.BigEndian, _ = acceptorOrder(b) // acr_magic, which AcceptorRequestSize has checked
	o := order(r.BigEndian)
	r.Version = o.Uint32(b[4:]) // acr_version
	if r.Version == AcceptorVersion1 {
		r.NID = nid.From4(o.Uint64(b[8:])) // acr_nid
	} else if r.NID, _, err = nid.ParseExtended(b[8:]); err != nil { // acr_nid
		return AcceptorRequest{}, b, err
	}
	return r, b[size:], nil
}

// acceptorOrder learns the byte order from the magic at the beginning of b.
func acceptorOrder(b []byte) (bigEndian bool, err error) {
	switch magic := binary.LittleEndian.Uint32(b); magic {
	case AcceptorMagic:
		return false, nil
	case bits.ReverseBytes32(AcceptorMagic):
		return true, nil
	case genericMagic, bits.ReverseBytes32(genericMagic):
		return false, ErrGenericMagic
	}
	return false, ErrMagic
}

// byteOrder reads and appends numbers in one sender's byte order.
type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

func order(bigEndian bool) byteOrder {
	if bigEndian {
		return binary.BigEndian
	}
	return binary.LittleEndian
}
