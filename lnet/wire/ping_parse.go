package wire

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"ulnet/lnet/nid"
)

// ParsePingInfo parses a ping info and returns what follows it. It refuses what LNet refuses
// (LNet peer.c lnet_ping_info_validate): a wrong magic (ErrMagic), missing statuses
// (ErrNIStatus), an impossible number of entries (ErrNICount), a first entry that is not 0@lo
// (ErrNoLo), and a size that no message can have (errPingSize). If b ends early the error is a
// *TruncatedError, which says how many bytes to request; if b holds at least the first entry,
// the result has everything that b contains.
//
// Large entries that cannot be a NID are skipped, as in LNet. If data of LNDs follows
// (FeatureMetadata), it is ignored, and so are large entries, because that data is where they
// would be.
func ParsePingInfo(b []byte) (p PingInfo, rest []byte, err error) {
	h, err := parsePingHeader(b)
	if err != nil {
		return PingInfo{}, b, err
	}
	whole := b
	if len(b) > h.size {
		whole = b[:h.size]
	}
	p = h.info
	p.NIs = make([]NIStatus, 0, min(h.entries-1, len(whole)/niStatusSize))
	tail := p.parse4(whole[PingInfoSize(1):], h.entries-1)
	if h.large {
		p.parseLarge(tail)
	}
	if len(p.NIs) > maxPingNIs {
		return PingInfo{}, b, ErrNICount
	}
	if len(b) < h.size {
		return p, b, &TruncatedError{h.size}
	}
	return p, b[h.size:], nil
}

// pingHeader is a ping info up to and including its first entry.
type pingHeader struct {
	info    PingInfo
	entries int  // number of 16-byte entries, the first included
	large   bool // whether entries for large NIDs follow
	size    int  // bytes of the whole ping info
}

func parsePingHeader(b []byte) (h pingHeader, err error) {
	if len(b) < pingHeaderSize {
		return pingHeader{}, &TruncatedError{PingInfoSize(1)}
	}
	switch magic := binary.LittleEndian.Uint32(b); magic { // pi_magic
	case pingMagic:
	case bits.ReverseBytes32(pingMagic):
		h.info.BigEndian = true
	default:
		return pingHeader{}, ErrMagic
	}
	o := order(h.info.BigEndian)
	h.info.Features = Features(o.Uint32(b[4:])) // pi_features
	h.info.PID = nid.PID(o.Uint32(b[8:]))       // pi_pid
	entries := o.Uint32(b[12:])                 // pi_nnis
	switch {
	case !h.info.Features.Has(FeatureNIStatus):
		return pingHeader{}, ErrNIStatus
	case entries < 1 || entries > maxPingNIs+1:
		return pingHeader{}, ErrNICount
	}
	h.entries = int(entries)
	h.size = PingInfoSize(h.entries)
	return h, h.parseFirst(b[pingHeaderSize:])
}

// parseFirst parses the first entry, which is 0@lo.
func (h *pingHeader) parseFirst(b []byte) error {
	if len(b) < niStatusSize {
		return &TruncatedError{h.size}
	}
	o := order(h.info.BigEndian)
	if nid.From4(o.Uint64(b)) != nid.Lo0() { // ns_nid
		return ErrNoLo
	}
	h.info.Sequence = o.Uint32(b[8:]) // ns_status
	if !h.info.Features.Has(FeatureLargeAddr) {
		return nil
	}
	msgSize := o.Uint32(b[12:]) &^ 3 // ns_msg_size
	if msgSize > MaxPayload {
		return errPingSize
	}
	h.size = max(h.size, int(msgSize))
	h.large = !h.info.Features.Has(FeatureMetadata)
	return nil
}

// parse4 parses n entries of 16 bytes, or as many as b has, and returns the bytes after all
// n.
func (p *PingInfo) parse4(b []byte, n int) (rest []byte) {
	o := order(p.BigEndian)
	for ; n > 0 && len(b) >= niStatusSize; n-- {
		ni := NIStatus{
			NID:    nid.From4(o.Uint64(b)),  // ns_nid
			Status: Status(o.Uint32(b[8:])), // ns_status
		}
		if !ni.NID.IsAny() {
			p.NIs = append(p.NIs, ni)
		}
		b = b[niStatusSize:]
	}
	if n > 0 {
		return nil
	}
	return b
}

// parseLarge parses large entries up to the end of b and moves the primary NID to the front
// of the list.
func (p *PingInfo) parseLarge(b []byte) {
	o := order(p.BigEndian)
	first := len(p.NIs)
	for len(b) >= largeEntryHead && len(p.NIs) <= maxPingNIs {
		size := largeEntrySize(4 + int(b[4]))
		if size > len(b) {
			break
		}
		var extended [nid.ExtendedSize]byte // a large entry ends where its address ends
		copy(extended[:], b[4:size])
		n, _, err := nid.ParseExtended(extended[:]) // ns_nid
		if err == nil && !n.IsAny() {
			p.NIs = append(p.NIs, NIStatus{n, Status(o.Uint32(b))}) // ns_status
		}
		b = b[size:]
	}
	if p.Features.Has(FeaturePrimaryLarge) && first < len(p.NIs) {
		primary := p.NIs[first]
		p.NIs = slices.Insert(slices.Delete(p.NIs, first, first+1), 0, primary)
	}
}
