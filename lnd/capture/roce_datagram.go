package capture

import (
	"encoding/binary"
	"net/netip"

	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/ibta"
)

// datagram takes a packet to a multicast group, which belongs to no connection. A datagram of
// o2iblnd in it becomes a Record: a Message, as for socklnd's datagrams, whose Conn says RoCE
// and names the queue pair that sent it.
func (r *roce) datagram(f *roceFrame) {
	c := unconnected(f)
	r.emitPacket(c, Initiator, f)
	if f.err != nil || len(f.Payload) < 4 || binary.LittleEndian.Uint32(f.Payload) != kib.Datagrams.Magic {
		return
	}
	rec := &Record{Kind: Message, Stamp: f.at, Conn: &c.Conn, Datagram: true, Raw: f.Payload}
	rec.Length = uint64(len(f.Payload) + f.gap)
	rec.parseDatagram(&kib.Datagrams, f.Payload, r.d.opt.KeepPayload)
	r.d.deliver(rec)
}

// unconnected returns a roceConn without an ID, for a packet that belongs to no connection.
func unconnected(f *roceFrame) *roceConn {
	return &roceConn{Conn: Conn{
		RoCE: true, FirstFrame: f.at.Frame, QPs: [2]uint32{uint32(f.DETH.SrcQP), uint32(f.DestQP)},
		Ends: [2]netip.AddrPort{netip.AddrPortFrom(f.src, ibta.Port), netip.AddrPortFrom(f.dst, ibta.Port)},
	}}
}

// isDatagram reports whether a packet goes to a multicast group.
func (f *roceFrame) isDatagram() bool {
	return f.OpCode.IsUD() && f.DestQP == ibta.MulticastQPN && f.dst.IsMulticast()
}
