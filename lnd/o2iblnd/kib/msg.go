package kib

import "ulnet/lnet/wire"

// Msg is a message. Which fields count depends on its type; the others are
// zero.
type Msg struct {
	Header
	Params  ConnParams  // in CONNREQ and CONNACK
	LNet    wire.Header // in IMMEDIATE, PUT_REQ and GET_REQ
	Payload []byte      // in IMMEDIATE: a part of the parsed bytes
	// Cookie names a transfer. It is chosen by the sender of PUT_REQ and GET_REQ,
	// and repeated by PUT_ACK, PUT_NAK and GET_DONE; PUT_DONE repeats DstCookie.
	Cookie    uint64
	DstCookie uint64 // in PUT_ACK: cookie that its sender chose
	Desc      Desc   // in PUT_ACK and GET_REQ: memory that takes the data
	// Status of PUT_NAK, PUT_DONE and GET_DONE is a negative errno of Linux, or
	// the number of bytes written.
	Status int32
}

// ParseMsg parses the message that arrived in b; bytes behind it are ignored.
// It does not look at the checksum, see VerifyChecksum, nor at what the LNet
// header says except for its payload length. The errors are those of
// ParseHeader, errFrags, errDesc and errPayload.
func ParseMsg(b []byte) (m Msg, err error) {
	if m.Header, err = ParseHeader(b); err != nil {
		return m, err
	}
	o := byteOrder(m.BigEndian)
	body := b[HeaderSize:m.Nob] // the length was checked: it is enough for this type
	switch m.Type {
	case ConnReq, ConnAck:
		m.Params.parse(body, o)
	case Immediate:
		m.LNet, _, _ = wire.ParseHeader(body)
		return m, m.immediate(b)
	case PutReq, GetReq:
		m.LNet, body, _ = wire.ParseHeader(body)
		m.Cookie = o.Uint64(body) // ibprm_cookie of struct kib_putreq_msg and ibgm_cookie of struct kib_get_msg
		if m.Type == GetReq {
			err = m.Desc.parse(body[8:], o) // field ibgm_rd of struct kib_get_msg
		}
	case PutAck:
		m.Cookie = o.Uint64(body)        // field ibpam_src_cookie of struct kib_putack_msg
		m.DstCookie = o.Uint64(body[8:]) // field ibpam_dst_cookie of struct kib_putack_msg
		err = m.Desc.parse(body[16:], o) // field ibpam_rd of struct kib_putack_msg
	case PutNak, PutDone, GetDone:
		m.Cookie = o.Uint64(body)            // field ibcm_cookie of struct kib_completion_msg
		m.Status = int32(o.Uint32(body[8:])) // field ibcm_status of struct kib_completion_msg
	}
	return m, err
}

// immediate takes as much payload from b as the LNet header says. It ignores Nob: the payload may extend
// beyond what Nob counts. errPayload: less has arrived.
func (m *Msg) immediate(b []byte) error {
	payload := b[ImmediateSize:]
	if uint64(m.LNet.PayloadLength) > uint64(len(payload)) {
		return errPayload
	}
	m.Payload = payload[:m.LNet.PayloadLength:m.LNet.PayloadLength]
	return nil
}

// AppendBinary appends the wire form of m. There, Nob is the actual length of the
// message, whatever m.Nob is, and Checksum is m.Checksum. The errors are ErrType,
// ErrLargeNID, errFrags for a descriptor without fragments, and ErrTooLong; in case
// of an error b is returned unchanged.
func (m *Msg) AppendBinary(b []byte) ([]byte, error) {
	h := m.Header
	n := uint64(h.Type.minNob()) + uint64(len(m.Payload))
	switch m.Type {
	case PutAck, GetReq:
		if m.Desc.Len() == 0 {
			return b, errFrags
		}
		n += uint64(len(m.Desc.wire) - fragSize)
	case Immediate:
	default:
		n = uint64(h.Type.minNob())
	}
	switch {
	case !h.Type.IsValid():
		return b, ErrType
	case n > MaxMsgSize:
		return b, ErrTooLong
	}
	h.Nob = uint32(n)
	out, err := h.appendTo(b)
	if err == nil {
		out, err = m.appendBody(out)
	}
	if err != nil {
		return b, err
	}
	return out, nil
}

func (m *Msg) appendBody(b []byte) ([]byte, error) {
	o := byteOrder(m.BigEndian)
	if m.Type.HasLNet() {
		var err error
		if b, err = m.LNet.AppendBinary(b); err != nil {
			return b, ErrLargeNID
		}
	}
	switch m.Type {
	case ConnReq, ConnAck:
		b = m.Params.appendTo(b, o)
	case Immediate:
		b = append(b, m.Payload...)
	case PutReq:
		b = o.AppendUint64(b, m.Cookie) // field ibprm_cookie of struct kib_putreq_msg
	case GetReq:
		b = o.AppendUint64(b, m.Cookie) // field ibgm_cookie of struct kib_get_msg
		b = m.Desc.appendTo(b, o)       // field ibgm_rd of struct kib_get_msg
	case PutAck:
		b = o.AppendUint64(b, m.Cookie)    // field ibpam_src_cookie of struct kib_putack_msg
		b = o.AppendUint64(b, m.DstCookie) // field ibpam_dst_cookie of struct kib_putack_msg
		b = m.Desc.appendTo(b, o)          // field ibpam_rd of struct kib_putack_msg
	case PutNak, PutDone, GetDone:
		b = o.AppendUint64(b, m.Cookie)         // field ibcm_cookie of struct kib_completion_msg
		b = o.AppendUint32(b, uint32(m.Status)) // field ibcm_status of struct kib_completion_msg
	}
	return b, nil
}
