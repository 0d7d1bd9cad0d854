package ksock

import (
	"encoding/binary"

	"ulnet/lnet/nid"
)

// lnetHello is the LNet message type of a v1 HELLO (LNET_MSG_HELLO).
const lnetHello = 4

// helloV1Tail is the unused part of a v1 HELLO: sent as zero, ignored on arrival.
const helloV1Tail = HelloV1Size - 44

// appendV1 appends an LNet header of type HELLO, which has magic and version in
// place of the destination NID.
func (h *Hello) appendV1(b []byte) ([]byte, error) {
	src, err := value4(h.SrcNID)
	if err != nil {
		return b, err
	}
	o := binary.LittleEndian
	b = o.AppendUint32(b, MagicV1)            // field magic of struct lnet_magicversion
	b = o.AppendUint16(b, 1)                  // field version_major of struct lnet_magicversion
	b = o.AppendUint16(b, 0)                  // field version_minor of struct lnet_magicversion
	b = o.AppendUint64(b, src)                // field src_nid of struct lnet_hdr
	b = o.AppendUint32(b, uint32(h.DstPID))   // field dest_pid of struct lnet_hdr
	b = o.AppendUint32(b, uint32(h.SrcPID))   // field src_pid of struct lnet_hdr
	b = o.AppendUint32(b, lnetHello)          // field type of struct lnet_hdr
	b = o.AppendUint32(b, 4*h.AddressCount)   // field payload_length of struct lnet_hdr
	b = o.AppendUint64(b, h.SrcIncarnation)   // field msg.hello.incarnation of struct lnet_hdr
	b = o.AppendUint32(b, uint32(h.ConnType)) // field msg.hello.type of struct lnet_hdr
	b = append(b, make([]byte, helloV1Tail)...)
	return h.appendAddresses(b), nil
}

func (h *Hello) parseV1(b []byte) error {
	o := binary.LittleEndian
	h.SrcNID = nid.From4(o.Uint64(b[8:])) // field src_nid of struct lnet_hdr
	h.DstPID = nid.PID(o.Uint32(b[16:]))  // field dest_pid of struct lnet_hdr
	h.SrcPID = nid.PID(o.Uint32(b[20:]))  // field src_pid of struct lnet_hdr
	if o.Uint32(b[24:]) != lnetHello {    // field type of struct lnet_hdr
		return ErrHelloType
	}
	h.AddressCount = o.Uint32(b[28:]) / 4          // field payload_length of struct lnet_hdr
	h.SrcIncarnation = o.Uint64(b[32:])            // field msg.hello.incarnation of struct lnet_hdr
	h.ConnType = ConnType(int32(o.Uint32(b[40:]))) // field msg.hello.type of struct lnet_hdr
	return nil
}
