package capture_test

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"testing"
	"time"

	"ulnet/lnd/capture"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// roceEnd is one end of a made-up connection.
type roceEnd struct {
	addr netip.Addr
	qp   ibta.QPN
	nid  nid.NID
	psn  ibta.PSN // PSN of the next request that this end sends
}

// roceWire makes the packets of a connection between two ends.
type roceWire struct {
	t    testing.TB
	ends [2]*roceEnd
	list []capture.Packet
}

func newRoceWire(t testing.TB) *roceWire {
	return &roceWire{t: t, ends: [2]*roceEnd{
		{netip.MustParseAddr("10.0.0.1"), 0x11, nid.MustParse("10.0.0.1@o2ib"), 0xFFFFFE}, // the PSN wraps to 0 soon
		{netip.MustParseAddr("10.0.0.2"), 0x22, nid.MustParse("10.0.0.2@o2ib"), 0x200},
	}}
}

// packet adds a packet from side.
func (w *roceWire) packet(side int, p ibta.Packet) {
	w.t.Helper()
	src, dst := w.ends[side], w.ends[1-side]
	p.PKey = ibta.DefaultPKey
	if !p.OpCode.IsUD() {
		p.DestQP = dst.qp
	}
	w.list = append(w.list, ipPacketOf(src.addr, dst.addr, p.AppendTo(nil)))
}

// ipPacketOf wraps a packet from its BTH to its padding.
func ipPacketOf(src, dst netip.Addr, body []byte) capture.Packet {
	s, d := netip.AddrPortFrom(src, 0xC000), netip.AddrPortFrom(dst, ibta.Port)
	roce := ibta.NewPath(s, d).AppendICRC(0, body)
	n := ibta.UDPSize + len(roce)
	b := []byte{0x45, 0, byte((n + 20) >> 8), byte(n + 20), 0, 0, 0x40, 0, 64, 17, 0, 0}
	if src.Is6() {
		b = []byte{0x60, 0, 0, 0, byte(n >> 8), byte(n), 17, 64}
	}
	b = append(append(b, src.AsSlice()...), dst.AsSlice()...)
	b = binary.BigEndian.AppendUint16(b, s.Port())
	b = binary.BigEndian.AppendUint16(b, d.Port())
	b = append(binary.BigEndian.AppendUint16(b, uint16(n)), 0, 0)
	b = append(b, roce...)
	return capture.Packet{Time: time.Unix(1, 0), Link: capture.LinkRaw, Data: b, Length: len(b)}
}

// message sends a message of o2iblnd in packets of at most mtu bytes, the last
// of which asks for an acknowledgement.
func (w *roceWire) message(side int, m kib.Msg, mtu int) {
	w.t.Helper()
	src, dst := w.ends[side], w.ends[1-side]
	m.Version, m.SrcNID, m.DstNID = kib.V2, src.nid, dst.nid
	if m.Type.HasLNet() {
		m.LNet.SrcNID, m.LNet.DestNID = src.nid, dst.nid
	}
	b, err := m.AppendBinary(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.segments(side, b, mtu, [4]ibta.OpCode{ibta.SendOnly, ibta.SendFirst, ibta.SendMiddle, ibta.SendLast}, ibta.RETH{})
}

// write makes an RDMA WRITE.
func (w *roceWire) write(side int, b []byte, mtu int, key ibta.RKey, address uint64) {
	w.t.Helper()
	w.segments(side, b, mtu, [4]ibta.OpCode{ibta.WriteOnly, ibta.WriteFirst, ibta.WriteMiddle, ibta.WriteLast},
		ibta.RETH{Address: address, RKey: key, Length: uint32(len(b))})
}

func (w *roceWire) segments(side int, b []byte, mtu int, ops [4]ibta.OpCode, reth ibta.RETH) {
	src := w.ends[side]
	for first := true; first || len(b) > 0; first = false {
		n := min(mtu, len(b))
		last := n == len(b)
		p := ibta.Packet{BTH: ibta.BTH{OpCode: ops[2], PSN: src.psn, AckReq: last}, Payload: b[:n]}
		switch {
		case first && last:
			p.OpCode = ops[0]
		case first:
			p.OpCode = ops[1]
		case last:
			p.OpCode = ops[3]
		}
		if first {
			p.RETH = reth
		}
		w.packet(side, p)
		src.psn = src.psn.Add(1)
		b = b[n:]
	}
}

// answer sends an ACK or a NAK for the packet with this PSN.
func (w *roceWire) answer(side int, psn ibta.PSN, s ibta.Syndrome) {
	w.t.Helper()
	w.packet(side, ibta.Packet{BTH: ibta.BTH{OpCode: ibta.Acknowledge, PSN: psn}, AETH: ibta.AETH{Syndrome: s}})
}

func putHeader(payload int) wire.Header {
	h := wire.Header{DestPID: 12345, SrcPID: 12345, PayloadLength: uint32(payload)}
	h.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), MatchBits: 7, Portal: 50})
	return h
}

func immediate(payload string) kib.Msg {
	return kib.Msg{Header: kib.Header{Type: kib.Immediate}, LNet: putHeader(len(payload)), Payload: []byte(payload)}
}

// tellRoCE dissects packets and returns the records, one per line, except those of packets
// without errors.
func tellRoCE(packets []capture.Packet) (lines []string, counts capture.Counts) {
	d := capture.NewDissector(capture.Options{}, func(r *capture.Record) {
		if r.Kind == capture.RocePacket && r.Err == nil {
			return
		}
		names := map[capture.Kind]string{
			capture.Opened: "opened", capture.Closed: "closed", capture.Lost: "lost", capture.MidStream: "mid-stream",
			capture.Unknown: "unknown", capture.RocePacket: "packet",
		}
		line := fmt.Sprintf("%d/%d %s%s", r.Conn.ID, r.From, names[r.Kind], r.Type())
		if r.Kind == capture.Lost || r.Kind == capture.Unknown {
			line += fmt.Sprintf(" %d", r.Length)
		}
		if r.Kind == capture.Message && len(r.Payload) > 0 {
			line += fmt.Sprintf(" %q", r.Payload[:min(len(r.Payload), 8)])
		}
		if m, ok := r.Moved(); ok {
			line += fmt.Sprintf(" %s of %d, missing %d, %d writes, %q", m.Type(), m.Header.PayloadLength, m.Missing, r.RoCE.Transfer.Writes, m.Payload[:min(len(m.Payload), 8)])
		}
		if r.Err != nil {
			line += ": " + r.Err.Error()
		}
		lines = append(lines, line)
	})
	for _, p := range packets {
		d.Packet(p.Time, p.Link, p.Data)
	}
	d.Close()
	return lines, d.Counts()
}

func openFile(t testing.TB, name string) *os.File {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
