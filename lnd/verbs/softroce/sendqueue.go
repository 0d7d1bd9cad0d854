package softroce

import (
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
)

// sendWork is a work request that was posted.
type sendWork struct {
	id       uint64
	op       verbs.Op
	signaled bool
	remote   verbs.Frag
	rkey     uint32
	first    ibta.PSN // PSN of the first packet
	packets  int
	length   int
	pieces   [][]byte
	inline   []byte // copies of the pieces that are in no region
}

// sendQueue holds the work requests that are not done, in a ring, and knows which
// packet comes next.
type sendQueue struct {
	mtu   int
	ring  []sendWork
	head  int
	count int
	end   ibta.PSN // the PSN after the last packet of all work requests

	// The next packet to send: it is packet number at (from 0) of the work request with index
	// cursor. Its payload begins at offset bytes into the piece with index piece.
	cursor, at    int
	piece, offset int
}

func (q *sendQueue) init(cfg rcConfig) {
	q.mtu, q.end = cfg.MTU, cfg.SendPSN
	q.ring = make([]sendWork, min(4, max(1, cfg.MaxSends)))
}

func (q *sendQueue) len() int { return q.count }

// work returns the work request with index i from the oldest.
func (q *sendQueue) work(i int) *sendWork { return &q.ring[(q.head+i)%len(q.ring)] }

// push appends the work request wr.
func (q *sendQueue) push(wr *verbs.SendWR) {
	if q.count == len(q.ring) {
		q.grow()
	}
	w := q.work(q.count)
	q.count++
	*w = sendWork{
		id: wr.ID, op: wr.Op, signaled: wr.Signaled, remote: wr.Remote, rkey: wr.RKey, first: q.end,
		pieces: w.pieces[:0], inline: w.inline[:0],
	}
	n := 0
	for _, p := range wr.Pieces {
		if p.MR == nil {
			n += len(p.Bytes)
		}
	}
	if cap(w.inline) < n {
		// make room for all copies now: pieces refer to this memory, so append must not move it later
		w.inline = make([]byte, 0, n)
	}
	for _, p := range wr.Pieces {
		b := p.Bytes
		if p.MR == nil {
			at := len(w.inline)
			w.inline = append(w.inline, b...)
			b = w.inline[at:]
		}
		if len(b) > 0 {
			w.pieces = append(w.pieces, b)
			w.length += len(b)
		}
	}
	w.packets = max(1, (w.length+q.mtu-1)/q.mtu)
	q.end = q.end.Add(w.packets)
}

// grow doubles the ring: an idle connection has a small one.
func (q *sendQueue) grow() {
	ring := make([]sendWork, 2*len(q.ring))
	for i := range q.count {
		ring[i] = *q.work(i)
	}
	q.ring, q.head = ring, 0
}

// pop takes the oldest work request, which is valid until the next push.
func (q *sendQueue) pop() *sendWork {
	w := q.work(0)
	clear(w.pieces)
	q.head = (q.head + 1) % len(q.ring)
	q.count--
	if q.cursor > 0 {
		q.cursor--
	} else {
		q.at, q.piece, q.offset = 0, 0, 0
	}
	return w
}

// seek makes the packet with this PSN the next one.
func (q *sendQueue) seek(psn ibta.PSN) {
	q.cursor, q.at, q.piece, q.offset = 0, 0, 0, 0
	for q.cursor < q.count {
		w := q.work(q.cursor)
		if q.at = psn.Sub(w.first); q.at < w.packets {
			break
		}
		q.at = 0
		q.cursor++
	}
	if q.cursor == q.count {
		return
	}
	w, left := q.work(q.cursor), q.at*q.mtu
	for left > 0 && left >= len(w.pieces[q.piece]) {
		left -= len(w.pieces[q.piece])
		q.piece++
	}
	q.offset = left
}

// take appends the next packet, whose PSN is psn, to out.
func (q *sendQueue) take(psn ibta.PSN, out *rcOutput) *ibta.Packet {
	w := q.work(q.cursor)
	p := rcPacket{from: len(out.pieces)}
	p.PSN, p.OpCode = psn, opcode(w.op, q.at == 0, q.at == w.packets-1)
	if w.op == verbs.Write && q.at == 0 {
		p.RETH = ibta.RETH{Address: w.remote.Address, RKey: ibta.RKey(w.rkey), Length: uint32(w.length)}
	}
	n := min(q.mtu, w.length-q.at*q.mtu)
	p.Pad = ibta.Pad(n)
	for n > 0 {
		b := w.pieces[q.piece][q.offset:]
		b = b[:min(n, len(b))]
		out.pieces = append(out.pieces, b)
		n -= len(b)
		if q.offset += len(b); q.offset == len(w.pieces[q.piece]) {
			q.piece, q.offset = q.piece+1, 0
		}
	}
	p.to = len(out.pieces)
	if q.at++; q.at == w.packets {
		q.cursor, q.at, q.piece, q.offset = q.cursor+1, 0, 0, 0
	}
	out.Packets = append(out.Packets, p)
	return &out.Packets[len(out.Packets)-1].Packet
}

// Bounds of small messages that wait to leave in one system call (see gathers); local policy. A
// burst of mostGathered packets fits one system call at any MTU.
const (
	gatherBehind = 16
	mostGathered = 16
)

// gathers reports whether the packets that have not left may wait for more packets. They may if
// they are fewer than mostGathered, if gatherBehind or more work requests before them are not
// acknowledged, and if they and the last gatherBehind of those are SENDs of one packet each. Each of
// the earlier SENDs asks for an ACK, and the next ACK makes the waiting packets leave (Nagle's
// algorithm, RFC 896, but not for the first messages).
func (q *sendQueue) gathers() bool {
	if q.at > 0 || q.cursor < gatherBehind || q.count-q.cursor >= mostGathered {
		return false
	}
	for i := q.cursor - gatherBehind; i < q.count; i++ {
		if w := q.work(i); w.op != verbs.Send || w.packets > 1 {
			return false
		}
	}
	return true
}

// opcode returns the opcode of a packet of a work request.
func opcode(op verbs.Op, first, last bool) ibta.OpCode {
	codes := [2][4]ibta.OpCode{
		{ibta.SendMiddle, ibta.SendFirst, ibta.SendLast, ibta.SendOnly},
		{ibta.WriteMiddle, ibta.WriteFirst, ibta.WriteLast, ibta.WriteOnly},
	}
	i := 0
	if first {
		i |= 1
	}
	if last {
		i |= 2
	}
	if op == verbs.Write {
		return codes[1][i]
	}
	return codes[0][i]
}
