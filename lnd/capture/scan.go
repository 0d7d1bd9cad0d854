package capture

import (
	"bytes"
	"encoding/binary"

	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// longestHeader is the longest run of headers that begins a message.
const longestHeader = ksock.MsgHeaderSize + wire.LargeHeaderSize

// rescan gives up the message whose headers are in buf and looks for another
// one, from the second byte of these headers on.
func (d *Decoder) rescan(h *half, cause error) {
	head := bytes.Clone(h.buf)
	h.cause, h.phase = cause, phaseScan
	h.next -= uint64(len(head))
	h.buf = nil
	h.skip(head[:1])
	h.next++
	for head = head[1:]; len(head) > 0; {
		if h.phase != phaseScan {
			head = d.collect(h, head)
			continue
		}
		head = d.scan(h, head, false)
	}
}

// scan looks for the beginning of a message in buf and b. It returns the bytes to decode as a
// message; bytes that may still turn out to be a message stay in buf. Many byte sequences
// look like a NOOP, so a NOOP is accepted only where a segment begins: boundary tells whether
// b begins one.
func (d *Decoder) scan(h *half, b []byte, boundary bool) (rest []byte) {
	fresh := len(h.buf)
	h.buf = append(h.buf, b...)
	h.next += uint64(len(b))
	for i := range h.buf {
		version, more := h.candidate(h.buf[i:], boundary && i == fresh)
		switch {
		case version != 0:
			rest = bytes.Clone(h.buf[i:])
			h.skip(h.buf[:i])
			d.unknown(h)
			h.version = version
			h.next -= uint64(len(rest))
			h.expect(phaseHeader)
			return rest
		case more:
			h.skip(h.buf[:i])
			h.buf = append(h.buf[:0], h.buf[i:]...)
			return nil
		}
	}
	h.skip(h.buf)
	h.buf = h.buf[:0]
	return nil
}

// candidate returns the version of the protocol in which b begins a message, or 0 if it begins none. If
// more is set, b is too short to tell. It accepts a NOOP only if first is set, which says that b begins
// where a segment begins.
func (h *half) candidate(b []byte, first bool) (v ksock.Version, more bool) {
	if h.version == ksock.V1 {
		return plausibleBare(b)
	}
	v, more = h.plausibleFramed(b, first)
	if v == 0 && !more && h.version == 0 {
		return plausibleBare(b)
	}
	return v, more
}

// plausibleFramed tells whether b begins like a message with a ksock header.
func (h *half) plausibleFramed(b []byte, first bool) (v ksock.Version, more bool) {
	var lnet [4]byte
	msgType := [4]byte{byte(ksock.LNet)}
	if h.bigEndian {
		msgType = [4]byte{3: byte(ksock.LNet)}
	}
	n := copy(lnet[:], b)
	if first && n == len(lnet) && h.plausibleNoop(b) {
		return h.guess(ksock.V3), false
	}
	if !bytes.Equal(lnet[:n], msgType[:n]) {
		return 0, false
	}
	small, large := h.version != ksock.V4, h.version == 0 || h.version == ksock.V4
	if small && len(b) >= ksock.MsgHeaderSize+wire.HeaderSize {
		if hdr, _, _ := wire.ParseHeader(b[ksock.MsgHeaderSize:]); plausible(&hdr) {
			return h.guess(ksock.V3), false
		}
		small = false
	}
	if large && len(b) >= longestHeader {
		if hdr, _, err := wire.ParseLargeHeader(b[ksock.MsgHeaderSize:]); err == nil && plausible(&hdr) {
			return ksock.V4, false
		}
		large = false
	}
	return 0, small || large
}

// guess returns the version of the connection if it is known, else v.
func (h *half) guess(v ksock.Version) ksock.Version {
	if h.version != 0 {
		return h.version
	}
	return v
}

// plausibleNoop tells whether b begins with a NOOP as kernels send it: without a checksum,
// and with cookies that are small enough to be counters.
func (h *half) plausibleNoop(b []byte) bool {
	k, _, err := ksock.ParseMsgHeader(b, h.bigEndian)
	return err == nil && k.Type == ksock.Noop && k.Checksum == 0 &&
		k.Cookies[0]>>48 == 0 && k.Cookies[1]>>48 == 0 && k.Cookies[1] != 0
}

// plausibleBare tells whether b begins with the bare LNet header of v1. The header has no magic,
// so b is taken for one only if its PIDs are those of kernels.
func plausibleBare(b []byte) (v ksock.Version, more bool) {
	const pids = 16 // offset of the pid fields in the header
	switch {
	case len(b) >= pids+8 && binary.LittleEndian.Uint64(b[pids:]) != uint64(nid.LustrePID)<<32|uint64(nid.LustrePID):
		return 0, false
	case len(b) < wire.HeaderSize:
		return 0, len(b) < 8 || b[7] == 0 // too short to tell, unless byte 7 is not zero: it is the top byte of a NID
	}
	if hdr, _, _ := wire.ParseHeader(b); plausible(&hdr) {
		return ksock.V1, false
	}
	return 0, false
}

// plausible tells whether a header can be that of a message.
func plausible(h *wire.Header) bool {
	return h.Validate() == nil && plausibleNID(h.DestNID) && plausibleNID(h.SrcNID)
}

func plausibleNID(n nid.NID) bool {
	t := n.Net().Type()
	return !n.IsAny() && t >= nid.Elan && t <= nid.BXI3
}
