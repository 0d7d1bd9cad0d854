package capture

import (
	"container/list"
	"net/netip"
	"time"

	"ulnet/lnd/capture/internal/headers"
)

// tuple names the two ends of a connection, the lesser one first.
type tuple [2]netip.AddrPort

func tupleOf(a, b netip.AddrPort) tuple {
	if a.Compare(b) > 0 {
		a, b = b, a
	}
	return tuple{a, b}
}

// flow is one TCP connection while it is open.
type flow struct {
	d       *Dissector
	conn    *Conn
	decoder *Decoder
	key     tuple
	streams [2]stream // what each side has sent, by Side
	first   Side      // side that sent the first packet
	age     *list.Element

	syn    [2]bool
	isn    [2]uint32
	next   [2]uint32     // by side: sequence number after that of the last byte captured
	fin    [2]bool       // by side: a FIN was captured, though perhaps not all bytes before it
	closed [2]bool       // by side: FIN or RST has been processed
	seen   time.Duration // when the last packet was captured, on the clock
	lossy  bool          // a packet of this flow has come out of order
	ending bool          // the Dissector passes packets that it has made itself, so that the assembler releases the flow
	listed bool          // is one of d.ending
	due    bool          // is one of d.due
	reset  [2]bool       // by side: a RST waits for bytes before it, or has been processed
	cutAt  time.Duration // when that RST came, on the clock
	broken bool
	old    bool         // all bytes of the segment in the assembler were captured before
	shut   [2]time.Time // by side: since when its receive window is closed; zero: it is open
	recent [2]recent    // by side: the latest segments
	window [2]int32     // by side: the largest receive window that it has told
	scale  [2]int       // by side: by how many bits the windows that it tells are to be shifted (window scaling), if both sides use that
	scales [2]bool      // by side: its SYN has the option for window scaling
}

// segment handles one TCP packet to or from a port of LNet.
func (d *Dissector) segment(ip *headers.IP, tcp *headers.TCP) {
	src, dst := netip.AddrPortFrom(ip.Src, tcp.SrcPort), netip.AddrPortFrom(ip.Dst, tcp.DstPort)
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
	if tcp.FIN && f.acceptable(side, tcp.Seq) {
		f.fin[side], f.reset[side] = true, false
	}
	f.seen = d.clock.now
	d.byAge.MoveToBack(f.age)
	f.watchWindow(side, tcp)
	late, gaveUp := f.isLate(side, tcp), f.streams[side].gaveUp(tcp.Seq, tcp.Payload)
	copied := f.isCopy(side, ip.ID, late, tcp)
	if len(d.due) > 0 {
		d.settleDue(f, side, tcp)
	}
	if tcp.RST {
		d.reset(f, side, tcp)
		return
	}
	d.assemble(f, side, tcp)
	f.count(side, late, copied, gaveUp)
	switch {
	case f.broken:
		d.forget(f, ErrLost)
	case f.isReset():
		d.end(f, ErrReset)
	case f.closed == both:
		d.forget(f, nil)
	case tcp.FIN && f.fin == both:
		d.listEnding(f)
	}
}

// both stands for both sides of a connection, by Side.
var both = [2]bool{true, true}

// open begins a flow at its first packet.
func (d *Dissector) open(key tuple, src, dst netip.AddrPort, tcp *headers.TCP) *flow {
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
func (f *flow) repeats(src netip.AddrPort, tcp *headers.TCP) bool {
	side := f.sideOf(src)
	return f.syn[side] && f.isn[side] == tcp.Seq
}

// reuses reports whether a SYN that is no retransmission begins another connection. A SYN that
// answers the SYN of f begins none.
func (f *flow) reuses(src netip.AddrPort, tcp *headers.TCP) bool {
	side := f.sideOf(src)
	answers := tcp.ACK && side == Acceptor && !f.syn[side] &&
		(!f.syn[side.Other()] || f.isn[side.Other()] == tcp.Ack-1)
	return !answers
}

// assemble passes a packet to the assembler.
func (d *Dissector) assemble(f *flow, side Side, tcp *headers.TCP) {
	end := tcp.Seq + uint32(len(tcp.Payload))
	stray := f.streams[side].begun && int32(end-f.streams[side].next) > largestGap
	if f.next[side] == 0 || len(tcp.Payload) > 0 && int32(end-f.next[side]) > 0 && !stray {
		f.next[side] = end
	}
	f.old = false
	d.guard(f, func() { d.arrived(f, side, tcp) })
}

// end ends a flow that TCP has not ended: bytes that wait for lost bytes are
// delivered, then both directions are reset.
func (d *Dissector) end(f *flow, cause error) {
	if f.lossy {
		d.guard(f, func() { d.assembler.flush(f, true) })
	}
	if f.isReset() {
		cause = ErrReset
	}
	f.ending = true
	for side := range f.closed {
		if !f.closed[side] && !f.broken {
			d.assemble(f, Side(side), &headers.TCP{RST: true})
		}
	}
	d.forget(f, cause)
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
	d.assembler.forget(f)
	d.byAge.Remove(f.age)
	delete(d.flows, f.key)
	d.closed.add(f)
	d.deliver(&Record{Kind: Closed, Stamp: d.at, Conn: f.conn, Err: cause})
}

// take passes the next bytes of a side to the decoder. lost is the number of bytes that are missing
// before them; if end is set, the side sends nothing after them.
func (f *flow) take(side Side, at Stamp, lost int, b []byte, end bool) {
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
