package capture

import (
	"container/list"
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/reassembly"
)

// tuple names the two ends of a connection, the lesser one first.
type tuple [2]netip.AddrPort

func tupleOf(a, b netip.AddrPort) tuple {
	if a.Compare(b) > 0 {
		a, b = b, a
	}
	return tuple{a, b}
}

// flow is one TCP connection while it is open: the reassembly.Stream of both
// its directions.
type flow struct {
	d       *Dissector
	conn    *Conn
	decoder *Decoder
	key     tuple
	keys    [2]gopacket.Flow // the keys of the two directions in the assembler
	first   Side             // side that sent the first packet: the assembler's "client"
	age     *list.Element

	syn    [2]bool
	isn    [2]uint32
	next   [2]uint32 // by side: sequence number after that of the last byte captured
	fin    [2]bool   // by side: a FIN was captured, though perhaps not all bytes before it
	closed [2]bool   // by side: FIN or RST has been processed
	seen   time.Time // when the last packet was captured
	lossy  bool      // a packet of this flow has come out of order
	ending bool      // the Dissector passes packets that it has made itself, so that the assembler releases the flow
	broken bool
	old    bool         // all bytes of the segment in the assembler were captured before
	shut   [2]time.Time // by side: since when its receive window is closed; zero: it is open
}

// segment handles one TCP packet to or from a port of LNet.
func (d *Dissector) segment(src, dst netip.AddrPort, tcp *layers.TCP) {
	key := tupleOf(src, dst)
	f := d.flows[key]
	if tcp.SYN {
		if f != nil && f.repeats(src, tcp) {
			return
		}
		if f != nil && f.reuses(src, tcp) {
			d.end(f, ErrReused)
			f = nil
		}
	}
	if f == nil && (d.closed.covers(key, src, tcp) || !tcp.SYN && len(tcp.Payload) == 0) {
		d.counts.Stray++
		return
	}
	if f == nil {
		f = d.open(key, src, dst, tcp)
	}
	side := f.sideOf(src)
	if tcp.SYN {
		f.syn[side], f.isn[side] = true, tcp.Seq
		f.decoder.Begin(side)
	}
	f.fin[side] = f.fin[side] || tcp.FIN
	f.seen = d.at.Time
	d.byAge.MoveToBack(f.age)
	f.watchWindow(side, tcp)
	late := f.isLate(side, tcp)
	d.assemble(f, side, tcp)
	if c := &f.conn.TCP[side]; late && f.old {
		c.Repeated++
	} else if late {
		c.Late++
	}
	switch {
	case f.broken:
		d.forget(f, ErrLost)
	case tcp.RST:
		d.end(f, ErrReset)
	case f.closed == both:
		d.forget(f, nil)
	case tcp.FIN && f.fin == both:
		d.ending = append(d.ending, f)
	}
}

// both stands for both sides of a connection, by Side.
var both = [2]bool{true, true}

// open begins a flow at its first packet.
func (d *Dissector) open(key tuple, src, dst netip.AddrPort, tcp *layers.TCP) *flow {
	if len(d.flows) >= maxFlows {
		d.counts.Evicted++
		d.end(d.byAge.Front().Value.(*flow), ErrEvicted)
	}
	ends, first := [2]netip.AddrPort{src, dst}, Initiator
	if tcp.SYN && tcp.ACK || !tcp.SYN && !d.ours(dst.Port()) {
		ends, first = [2]netip.AddrPort{dst, src}, Acceptor
	}
	d.conns++
	f := &flow{d: d, key: key, first: first}
	f.conn = &Conn{ID: d.conns, Ends: ends, FirstFrame: d.at.Frame}
	f.decoder = NewDecoder(f.conn, d.opt.KeepPayload, d.deliver)
	for side := range f.keys {
		var here, there [9]byte
		binary.BigEndian.PutUint64(here[:], uint64(d.conns))
		there = here
		here[8], there[8] = byte(side), byte(1-side)
		f.keys[side] = gopacket.NewFlow(gopacket.EndpointInvalid, here[:], there[:])
	}
	f.age = d.byAge.PushBack(f)
	d.flows[key] = f
	d.deliver(&Record{Kind: Opened, Stamp: d.at, Conn: f.conn, From: first})
	return f
}

func (f *flow) sideOf(src netip.AddrPort) Side {
	if src == f.conn.Ends[Initiator] {
		return Initiator
	}
	return Acceptor
}

// repeats reports whether a SYN is a retransmission.
func (f *flow) repeats(src netip.AddrPort, tcp *layers.TCP) bool {
	side := f.sideOf(src)
	return f.syn[side] && f.isn[side] == tcp.Seq
}

// reuses reports whether a SYN that is no retransmission begins another connection. A SYN that
// answers the SYN of f begins none.
func (f *flow) reuses(src netip.AddrPort, tcp *layers.TCP) bool {
	side := f.sideOf(src)
	answers := tcp.ACK && side == Acceptor && !f.syn[side] &&
		(!f.syn[side.Other()] || f.isn[side.Other()] == tcp.Ack-1)
	return !answers
}

// assemble passes a packet to the assembler, which calls Accept and
// ReassembledSG.
func (d *Dissector) assemble(f *flow, side Side, tcp *layers.TCP) {
	if end := tcp.Seq + uint32(len(tcp.Payload)); int32(end-f.next[side]) > 0 || f.next[side] == 0 {
		f.next[side] = end
	}
	d.assembly.flow, f.old = f, false
	d.guard(f, func() { d.assembler.AssembleWithContext(f.keys[side], tcp, &d.assembly) })
}

// end ends a flow that TCP has not ended: bytes that wait for lost ones are
// delivered, then both directions are reset.
func (d *Dissector) end(f *flow, cause error) {
	if f.lossy {
		d.flush(d.at.Time.Add(1))
	}
	f.ending = true
	for side := range f.closed {
		if !f.closed[side] && !f.broken {
			d.assemble(f, Side(side), f.reset(Side(side)))
		}
	}
	d.forget(f, cause)
}

// reset makes a RST of one side. Accept sets its sequence number.
func (f *flow) reset(side Side) *layers.TCP {
	const flags, rst = 13, 0x04
	header := [20]byte{12: 5 << 4, flags: rst}
	binary.BigEndian.PutUint16(header[0:], f.conn.Ends[side].Port())
	binary.BigEndian.PutUint16(header[2:], f.conn.Ends[side.Other()].Port())
	var tcp layers.TCP
	_ = tcp.DecodeFromBytes(header[:], gopacket.NilDecodeFeedback) // the header is long enough, so this cannot fail
	return &tcp
}

// endFinished ends the flows in which packets before a FIN were lost, because the assembler
// does not remember such a FIN.
func (d *Dissector) endFinished() {
	waiting := d.ending[:0]
	for _, f := range d.ending {
		switch {
		case d.flows[f.key] != f:
		case d.at.Time.Sub(f.seen) < reorderTimeout:
			waiting = append(waiting, f)
		default:
			d.end(f, nil)
		}
	}
	clear(d.ending[len(waiting):])
	d.ending = waiting
}

// forget drops an ended flow.
func (d *Dissector) forget(f *flow, cause error) {
	if f.fin == both {
		cause = nil
	}
	for side, closed := range f.closed {
		if !closed {
			f.decoder.End(Side(side), d.at)
		}
	}
	for side := range f.shut {
		f.openWindow(Side(side))
	}
	d.byAge.Remove(f.age)
	delete(d.flows, f.key)
	d.closed.add(f)
	d.deliver(&Record{Kind: Closed, Stamp: d.at, Conn: f.conn, Err: cause})
}

// side converts the assembler's direction to a Side.
func (f *flow) side(dir reassembly.TCPFlowDirection) Side {
	if dir == reassembly.TCPDirClientToServer {
		return f.first
	}
	return f.first.Other()
}

// Accept lets a packet pass (reassembly.Stream). It cuts off what was seen
// before, so that the assembler never sees such overlaps.
func (f *flow) Accept(tcp *layers.TCP, _ gopacket.CaptureInfo, _ reassembly.TCPFlowDirection,
	nextSeq reassembly.Sequence, start *bool, _ reassembly.AssemblerContext,
) bool {
	unknown := nextSeq < 0
	switch {
	case f.ending && unknown:
		*start = true
	case f.ending:
		tcp.Seq = uint32(nextSeq)
	case unknown && !tcp.SYN:
		*start = true // the capture begins in mid-stream; the decoder looks for a message
		return len(tcp.Payload) > 0 || tcp.FIN || tcp.RST
	case !unknown && !tcp.SYN:
		old := int32(uint32(nextSeq) - tcp.Seq)
		if old > 0 {
			n := min(int(old), len(tcp.Payload))
			tcp.Payload, tcp.Seq = tcp.Payload[n:], tcp.Seq+uint32(n)
			f.old = len(tcp.Payload) == 0
		} else if old < 0 && len(tcp.Payload) > 0 {
			f.lossy, f.d.reordered = true, true
		}
	}
	return true
}

// ReassembledSG takes bytes in order (reassembly.Stream).
func (f *flow) ReassembledSG(sg reassembly.ScatterGather, _ reassembly.AssemblerContext) {
	dir, _, end, lost := sg.Info()
	var b []byte
	if n, _ := sg.Lengths(); n > 0 {
		b = sg.Fetch(n)
	}
	f.d.decoding = true // stays true after a panic, because the reset below is not deferred
	f.take(f.side(dir), lost, b, end)
	f.d.decoding = false
}

// take hands what the assembler found to the decoder.
func (f *flow) take(side Side, lost int, b []byte, end bool) {
	at := f.d.at
	if lost > 0 {
		f.decoder.Gap(side, at, uint64(lost))
	}
	if len(b) > 0 {
		f.decoder.Feed(side, at, b)
	}
	if end {
		f.closed[side] = true
		f.decoder.End(side, at)
	}
}

// ReassemblyComplete lets the assembler forget the flow (reassembly.Stream).
func (f *flow) ReassemblyComplete(reassembly.AssemblerContext) bool { return true }
