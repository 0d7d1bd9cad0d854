package capture

import (
	"cmp"
	"container/list"
	"maps"
	"slices"
	"time"

	"ulnet/lnd/capture/internal/headers"
)

// AcceptPort is the port on which LNet nodes accept connections (accept_port).
const AcceptPort = 988

// Bounds of a Dissector, local policy.
const (
	maxFlows         = 16384
	defaultKeep      = 128 << 10 // bytes kept of a payload: more than the largest ping info
	flushInterval    = time.Second
	flushShare       = 64 // a flush takes place only if there was a packet for every so many flows since the last one
	rememberedClosed = 4096
)

// Options of a Dissector.
type Options struct {
	// Ports are the ports of acceptors; none means AcceptPort.
	Ports []uint16
	// KeepPayload is the number of payload bytes that Records keep of each
	// message: 0 means enough for every ping info, negative none.
	KeepPayload int
}

// Counts are the numbers of packets that a Dissector has seen, by how it handled them.
type Counts struct {
	Packets   uint64 // all packets of the capture
	Other     uint64 // packets that are neither TCP of the ports in Options, nor RoCE, nor multicast datagrams of LNet
	Fragments uint64 // IP fragments, which are not reassembled
	Truncated uint64 // packets that were captured in part
	Malformed uint64 // packets with unreadable headers or of unknown link types; without package encap also those with tags of VLANs
	Stray     uint64 // TCP packets of no open connection: late ones of a closed connection, and those with neither data nor SYN
	Evicted   uint64 // connections given up because too many were open
	Broken    uint64 // connections that were given up because the assembler panicked at them
	BadICRC   uint64 // packets of RoCE whose ICRC is wrong
	Repeated  uint64 // packets of RoCE that were sent more than once
	Copies    uint64 // TCP packets that are copies of packets captured before, such as at a bond and at one of its ports
	Outside   uint64 // packets dropped because their receiver cannot have accepted them: they were damaged, or sent by another node
}

// Dissector turns packets into Records: it finds the TCP connections, puts
// their bytes in order and feeds a Decoder for each; and it finds those of RoCE.
// Not safe for concurrent use.
//
// Each SYN begins a new Conn unless it repeats the SYN of the present one,
// because kernels use port 1023 again at once.
type Dissector struct {
	opt    Options
	emit   func(*Record)
	counts Counts
	at     Stamp
	clock  clock

	flows     map[tuple]*flow
	byAge     *list.List // list of *flow, with the one that was silent longest in front
	closed    closedFlows
	conns     int // number of connections seen so far
	assembler assembler
	plain     plain
	arrived   func(*flow, Side, *headers.TCP) // the method segment of assembler; tests replace it
	roce      *roce
	reordered bool          // whether a packet has ever come out of order
	flushed   time.Duration // time of the latest flush, on the clock
	packets   int           // of TCP since then
	ending    []*flow       // flows that were ended by FINs of both sides, or by a RST, but of which bytes are missing
	due       []*flow       // flows in which bytes are missing that were acknowledged a moment ago
	held      []*Record     // records of a flush, which are sorted before they are emitted
	holding   bool
	decoding  bool // whether the decoder or the caller's emit runs inside the assembler
}

// NewDissector returns a dissector that hands its Records to emit.
func NewDissector(opt Options, emit func(*Record)) *Dissector {
	if len(opt.Ports) == 0 {
		opt.Ports = []uint16{AcceptPort}
	}
	opt.KeepPayload = max(0, cmp.Or(opt.KeepPayload, defaultKeep))
	d := &Dissector{
		opt: opt, emit: emit,
		flows: map[tuple]*flow{}, byAge: list.New(), closed: newClosedFlows(rememberedClosed),
	}
	d.arrived = d.assembler.segment
	d.roce = newRoce(d)
	return d
}

// Counts returns the counters.
func (d *Dissector) Counts() Counts { return d.counts }

// Packet takes the next packet of a capture. It keeps no reference to data. It returns true
// if the packet belongs to one of the ports or to RoCE, or is a multicast datagram of LNet.
func (d *Dissector) Packet(at time.Time, link LinkType, data []byte) bool {
	d.at = Stamp{Time: at, Frame: d.at.Frame + 1}
	d.clock.advance(at)
	d.counts.Packets++
	if ours, done := d.takePlain(link, data); done {
		return ours
	}
	var p headers.Packet
	if headers.Unusual != nil {
		p = headers.Unusual(uint16(link), data)
	} else {
		p = unread(link, data)
	}
	switch {
	case p.TCP != nil:
		return d.tcp(&p.IP, p.TCP)
	case p.UDP != nil && (d.roce.packet(&p.IP, p.UDP) || d.datagram(&p.IP, p.UDP)):
		return true
	}
	d.countOther(&p)
	return false
}

// tcp handles a TCP packet. It returns true if the packet belongs to one of the ports.
func (d *Dissector) tcp(ip *headers.IP, tcp *headers.TCP) bool {
	if !ip.Src.IsValid() || !d.ours(tcp.SrcPort) && !d.ours(tcp.DstPort) {
		d.counts.Other++
		return false
	}
	if ip.Cut {
		d.counts.Truncated++
	}
	d.segment(ip, tcp)
	d.flushOld()
	return true
}

// Close reports unfinished records. The Dissector must not be used after it.
func (d *Dissector) Close() {
	d.flush(true)
	byID := func(a, b *flow) int { return a.conn.ID - b.conn.ID }
	for _, f := range slices.SortedFunc(maps.Values(d.flows), byID) {
		d.end(f, ErrOpenEnd)
	}
	d.roce.close()
}

func (d *Dissector) ours(port uint16) bool { return slices.Contains(d.opt.Ports, port) }

// countOther counts a packet without a readable TCP layer.
func (d *Dissector) countOther(p *headers.Packet) {
	switch {
	case p.Fragment:
		d.counts.Fragments++
	case p.Malformed:
		d.counts.Malformed++
	default:
		d.counts.Other++
	}
}

// deliver hands out a Record, or keeps it until a flush is over.
func (d *Dissector) deliver(r *Record) {
	if d.holding {
		d.held = append(d.held, r.Clone())
		return
	}
	d.emit(r)
}

// flushOld gives up bytes for which later segments have waited too long. On average over the packets, it takes a
// bounded time for each one.
func (d *Dissector) flushOld() {
	if d.packets++; !d.reordered || d.age(d.flushed) < flushInterval || d.packets < len(d.flows)/flushShare {
		return
	}
	d.flush(false)
	d.endFinished()
}

// flush gives up, in all flows, the missing bytes for which later packets have waited too long; if end is set, it
// gives up all missing bytes. It counts them as lost. It goes through the flows in the order of their last packets;
// the Records are sorted by connection.
func (d *Dissector) flush(end bool) {
	d.flushed, d.packets, d.holding = d.clock.now, 0, true
	for e := d.byAge.Front(); e != nil; e = e.Next() {
		f := e.Value.(*flow)
		d.guard(f, func() { d.assembler.flush(f, end) })
	}
	d.holding = false
	slices.SortStableFunc(d.held, func(a, b *Record) int { return a.Conn.ID - b.Conn.ID })
	for _, r := range d.held {
		d.emit(r)
	}
	d.held = d.held[:0]
}

// age returns how long ago an instant of the clock was.
func (d *Dissector) age(at time.Duration) time.Duration { return d.clock.now - at }
