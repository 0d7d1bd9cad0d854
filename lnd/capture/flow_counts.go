package capture

import (
	"time"

	"ulnet/lnd/capture/internal/headers"
)

// isLate reports whether a segment was captured after bytes that follow it in the stream. Probes
// of TCP's keepalive repeat one byte at most, and do not count.
func (f *flow) isLate(side Side, tcp *headers.TCP) bool {
	n := len(tcp.Payload)
	return n > 1 && f.next[side] != 0 && int32(tcp.Seq+uint32(n)-f.next[side]) <= 0
}

// latest tells the next packet of a side from a copy of one that was captured already.
type latest struct {
	id       uint16        // the latest identification of IPv4 other than 0
	from, to uint32        // sequence numbers of the latest segment with data
	at       time.Duration // when it came, on the clock
}

// isCopy reports whether a segment is a copy of a packet that was captured already: a host with a bond, a bridge or
// VLANs captures each packet at each device on its way. A retransmission is another packet, for which Linux counts the
// identification on. Without an identification, as in IPv6, a copy comes sooner than any retransmission could.
func (f *flow) isCopy(side Side, id uint16, tcp *headers.TCP) bool {
	const soon = 50 * time.Microsecond
	l, from, to := &f.latest[side], tcp.Seq, tcp.Seq+uint32(len(tcp.Payload))
	if len(tcp.Payload) == 0 || !f.streams[side].has(&waiting{seq: from, b: tcp.Payload}) {
		l.note(id, from, to, f.d.clock.now)
		return false
	}
	copied := id != 0 && l.id != 0 && int16(id-l.id) <= 0 ||
		id == 0 && from == l.from && to == l.to && f.d.age(l.at) < soon
	if !copied {
		l.note(id, from, to, f.d.clock.now)
	}
	return copied
}

func (l *latest) note(id uint16, from, to uint32, at time.Duration) {
	if id != 0 && (l.id == 0 || int16(id-l.id) > 0) {
		l.id = id
	}
	if from != to {
		l.from, l.to, l.at = from, to, at
	}
}

// has reports whether the bytes of w were captured, in one segment if they wait.
func (s *stream) has(w *waiting) bool {
	if s.begun && int32(w.after()-s.next) <= 0 {
		return true
	}
	i, j := s.overlapped(w)
	return j == i+1 && int32(w.seq-s.queue[i].seq) >= 0 && int32(s.queue[i].after()-w.after()) >= 0
}

// count counts a segment with its side's, or as a copy. One with bytes that were given up was not captured before.
func (f *flow) count(side Side, late, copied, gaveUp bool) {
	c := &f.conn.TCP[side]
	switch {
	case copied:
		f.d.counts.Copies++
	case late && f.old && !gaveUp:
		c.Repeated++
	case late:
		c.Late++
	}
}

// watchWindow counts how often and for how long a side closes its receive window.
func (f *flow) watchWindow(side Side, tcp *headers.TCP) {
	closed := tcp.Window == 0 && tcp.ACK && !tcp.SYN && !tcp.FIN && !tcp.RST
	switch {
	case !closed && tcp.Window > 0:
		f.openWindow(side)
	case closed && f.shut[side].IsZero():
		f.conn.TCP[side].ZeroWindows++
		f.shut[side] = f.d.at.Time
	}
}

// openWindow adds up the time for which the window of a side was closed, if it was.
func (f *flow) openWindow(side Side) {
	if f.shut[side].IsZero() {
		return
	}
	f.conn.TCP[side].ZeroWindow += max(0, f.d.at.Time.Sub(f.shut[side]))
	f.shut[side] = time.Time{}
}
