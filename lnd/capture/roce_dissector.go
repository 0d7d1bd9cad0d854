package capture

import (
	"container/list"
	"encoding/binary"
	"net/netip"
	"time"

	"ulnet/lnd/capture/internal/headers"
	"ulnet/lnd/verbs/ibta"
)

// Bounds of what is remembered of RoCE, local policy.
const (
	maxRoceConns = 4096
	// maxTransfers is how many transfers of one connection are remembered; kernels
	// have at most 255 each way.
	maxTransfers = 512
	// maxFragments bounds the fragments of all unfinished transfers; they take up to 32 MiB. A transfer counts as its
	// fragments and ownFragments more, for its other memory. At the bound the oldest transfers are forgotten.
	maxFragments = 2 << 20
	ownFragments = 16
	// maxBulk bounds the payload kept of all unfinished transfers.
	maxBulk = 64 << 20
)

// roce dissects the packets of RoCEv2.
type roce struct {
	d     *Dissector
	conns *list.List // list of *roceConn, with the one that was silent longest in front
	byQP  map[qpEnd]*roceConn
	byID  map[commEnd]*roceConn
	bulk  int // payload bytes kept for all unfinished transfers
	frags int // fragments of all unfinished transfers, counted as the method size does

	moving list.List // list of *Transfer: all unfinished transfers, the oldest in front

	waiting int           // pages of all packets that wait for earlier ones
	due     []*roceFlow   // flows in which packets are missing that were acknowledged a moment ago
	packets int           // number of packets since flushOld last looked for those that have waited for too long
	flushed time.Duration // when flushOld last looked for packets that have waited for too long, on the clock

	rec   Record
	extra RoCE
}

// qpEnd identifies a queue pair by its number and the addresses of packets that are sent to
// it.
type qpEnd struct {
	from, at netip.Addr
	qp       ibta.QPN
}

// commEnd identifies an end of a connection by the addresses and the communication id of its
// connection manager.
type commEnd struct {
	at, peer netip.Addr
	id       ibta.CommID
}

func newRoce(d *Dissector) *roce {
	return &roce{d: d, conns: list.New(), byQP: map[qpEnd]*roceConn{}, byID: map[commEnd]*roceConn{}}
}

// roceFrame is a captured packet.
type roceFrame struct {
	src, dst netip.Addr
	ibta.Packet
	raw   []byte // bytes of the packet from BTH to ICRC
	cut   int    // bytes at the end of raw that were not captured
	gap   int    // bytes of the payload that were not captured
	err   error
	at    Stamp
	since time.Duration // of a packet that waits: when it came, on the clock
}

// packet processes a UDP packet if it is one of RoCE, which the result tells.
func (r *roce) packet(ip *headers.IP, udp *headers.UDP) bool {
	if udp.DstPort != ibta.Port {
		return false
	}
	f := roceFrame{at: r.d.at, src: ip.Src, dst: ip.Dst}
	if !f.src.IsValid() {
		return false
	}
	length := udp.Length - ibta.UDPSize
	f.raw = udp.Payload[:max(0, min(length, len(udp.Payload)))]
	f.cut = max(0, length-len(f.raw))
	f.parse(ip.Header, udp.Header)
	if j, ok := f.isJoined(ip, udp); ok {
		r.split(&f, j)
	} else {
		r.take(&f)
	}
	r.flushOld()
	return true
}

// take counts what is wrong with a packet, and decodes it.
func (r *roce) take(f *roceFrame) {
	switch {
	case f.err == ibta.ErrShort || f.err == ibta.ErrVersion || f.err == ibta.ErrPad:
		r.d.counts.Malformed++
		return
	case f.cut > 0:
		r.d.counts.Truncated++
	case f.err == ErrICRC:
		r.d.counts.BadICRC++
	}
	r.frame(f)
}

// parse decodes the packet. Bytes that the capture lacks are taken as zeros, and the ICRC is
// then not checked.
func (f *roceFrame) parse(ip, udp []byte) {
	whole := f.raw
	if f.cut > 0 {
		whole = append(append([]byte(nil), f.raw...), make([]byte, f.cut)...)
	}
	if f.Packet, f.err = ibta.ParsePacket(whole); f.err != nil && f.err != ibta.ErrOpCode {
		return
	}
	if f.cut > 0 {
		there := max(0, len(f.raw)-f.OpCode.HeaderSize())
		f.gap = max(0, len(f.Payload)-there)
		f.Payload = f.Payload[:len(f.Payload)-f.gap]
		return
	}
	body := f.raw[:len(f.raw)-ibta.ICRCSize]
	if icrc, err := ibta.ICRC(ip, udp, body); err != nil {
		f.err = err
	} else if icrc != binary.LittleEndian.Uint32(f.raw[len(body):]) {
		f.err = ErrICRC
	}
}

// frame finds the connection of a packet and decodes it.
func (r *roce) frame(f *roceFrame) {
	if f.OpCode.IsUD() && f.DestQP == ibta.GSI {
		if f.err == nil && f.cut == 0 {
			r.cm(f)
		} else {
			r.emitPacket(unconnected(f), Initiator, f)
		}
		return
	}
	if f.isDatagram() {
		r.datagram(f)
		return
	}
	c, side := r.find(f)
	r.emitPacket(c, side, f)
	if len(r.due) > 0 {
		r.settleDue(c, side, f)
	}
	switch {
	case f.err == ibta.ErrOpCode:
		c.flows[side].pass(f)
	case f.err != nil || f.OpCode.IsUD() || f.OpCode == ibta.CNP:
	case f.OpCode == ibta.Acknowledge:
		c.acknowledged(f, side)
	default:
		c.flows[side].arrive(f)
	}
}

// emitPacket emits the record of one RoCE packet.
func (r *roce) emitPacket(c *roceConn, side Side, f *roceFrame) {
	rec := r.record(c, side, RocePacket, f)
	rec.Raw, rec.Length, rec.Err = f.raw, uint64(len(f.raw)+f.cut), f.err
	if f.cut > 0 && f.err == nil {
		rec.Err = ErrCut
	}
	r.d.deliver(rec)
}

// record starts a Record about f.
func (r *roce) record(c *roceConn, side Side, kind Kind, f *roceFrame) *Record {
	r.extra = RoCE{Packet: f.Packet}
	r.rec = Record{Kind: kind, Stamp: f.at, Conn: &c.Conn, From: side, RoCE: &r.extra}
	return &r.rec
}

// note reports something about a connection.
func (r *roce) note(c *roceConn, side Side, kind Kind, n uint64, err error) {
	r.d.deliver(&Record{Kind: kind, Stamp: r.d.at, Conn: &c.Conn, From: side, Length: n, Err: err, RoCE: &RoCE{}})
}

// close reports all connections and transfers that are unfinished.
func (r *roce) close() {
	for e := r.conns.Front(); e != nil; e = e.Next() {
		c := e.Value.(*roceConn)
		for _, fl := range c.flows {
			fl.end()
		}
		if !c.closed {
			r.note(c, Initiator, Closed, 0, ErrOpenEnd)
		}
	}
}
