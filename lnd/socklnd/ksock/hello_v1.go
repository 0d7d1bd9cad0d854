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
	b = o.AppendUint32(b, MagicV1)            // hmv->magic
	b = o.AppendUint16(b, 1)                  // hmv->version_major
	b = o.AppendUint16(b, 0)                  // hmv->version_minor
	b = o.AppendUint64(b, src)                // hdr->src_nid
	b = o.AppendUint32(b, uint32(h.DstPID))   // hdr->dest_pid
	b = o.AppendUint32(b, uint32(h.SrcPID))   // hdr->src_pid
	b = o.AppendUint32(b, lnetHello)          // hdr->type
	b = o.AppendUint32(b, 4*h.AddressCount)   // hdr->payload_length
	b = o.AppendUint64(b, h.SrcIncarnation)   // hdr->msg.hello.incarnation
	b = o.AppendUint32(b, uint32(h.ConnType)) // hdr->msg.hello.type
	b = append(b, make([]byte, helloV1Tail)...)
	return h.appendAddresses(b), nil
}

func (h *Hello) parseV1(b []byte) error {
	o := binary.LittleEndian
	h.SrcNID = nid.From4(o.Uint64(b[8:])) // hdr->src_nid
	h.DstPID = nid.PID(o.Uint32(b[16:]))  // hdr->dest_pid
	h.SrcPID = nid.PID(o.Uint32(b[20:]))  // hdr->src_pid
	if o.Uint32(b[24:]) != lnetHello {    // hdr->type
		return ErrHelloType
	}
	h.AddressCount = o.Uint32(b[28:]) / 4          // hdr->payload_length
	h.SrcIncarnation = o.Uint64(b[32:])            // hdr->msg.hello.incarnation
	h.ConnType = ConnType(int32(o.Uint32(b[40:]))) // hdr->msg.hello.type
	return nil
}
