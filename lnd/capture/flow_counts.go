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

// count counts a segment that is a copy, repeated or late. A late segment counts as repeated if all its bytes were
// captured before. That is not so if some of them were given up (gaveUp).
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

// watchWindow notes the largest receive window of a side, and counts how often and for how long the side closes it.
func (f *flow) watchWindow(side Side, tcp *headers.TCP) {
	if tcp.SYN {
		f.scale[side], f.scales[side] = tcp.WindowScale()
	}
	shift := 0
	if f.scales == both && !tcp.SYN {
		shift = f.scale[side]
	}
	f.window[side] = max(f.window[side], int32(tcp.Window)<<shift)
	closed := tcp.Window == 0 && tcp.ACK && !tcp.SYN && !tcp.FIN && !tcp.RST
	switch {
	case !closed && tcp.Window > 0:
		f.openWindow(side)
	case closed && f.shut[side].IsZero():
		f.conn.TCP[side].ZeroWindows++
		f.shut[side] = f.d.at.Time
	}
}

// reachable returns how far behind the bytes in order of a side its further bytes can be at most: as far as the largest
// receive window of the other side. If the capture lacks a SYN, the scale of the windows is not known, and the result
// is largestGap.
func (f *flow) reachable(side Side) int32 {
	if f.syn != both {
		return largestGap
	}
	return min(max(f.window[side.Other()], 1<<16), largestGap)
}

// openWindow adds up the time for which the window of a side was closed, if it was.
func (f *flow) openWindow(side Side) {
	if f.shut[side].IsZero() {
		return
	}
	f.conn.TCP[side].ZeroWindow += max(0, f.d.at.Time.Sub(f.shut[side]))
	f.shut[side] = time.Time{}
}
