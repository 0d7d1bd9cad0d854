package o2iblnd

import (
	"fmt"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnet/wire"
)

// TestNoopsOfStreams (OB-2): a peer that has many PUTs or GETs to send, and so spends its credits at once, gets few NOOPs.
// PUTs return their credits in NOOPs at the high-water mark; the answers to GETs carry those of earlier GETs. A peer
// that keeps no credit for priority messages, as a kernel, is simulated by giving all messages of the peer priority.
func TestNoopsOfStreams(t *testing.T) {
	spec.Covers(t, "OB-2")
	const n = 64
	for _, tt := range []struct {
		typ  wire.MsgType
		slow bool // whether lnet answers a GET when nothing else is under way
		most int  // most NOOPs
	}{
		{wire.Put, false, n/4 + 2}, {wire.Get, false, 2}, {wire.Get, true, 2},
	} {
		for _, size := range []int{5000, 1 << 20} {
			for _, spends := range []bool{false, true} {
				t.Run(fmt.Sprintf("%v of %d bytes, slow answers %v, spends all %v", tt.typ, size, tt.slow, spends), func(t *testing.T) {
					p := newPair(t)
					a, b := p.ends[0], p.ends[1]
					for range n {
						a.send(tt.typ, size, 1, 1, spends)
					}
					for again := true; again; {
						again = a.deliver() || a.complete()
						again = b.deliver() || b.complete() || again
						for (!tt.slow || !again) && b.answer(size, 0) {
							again = true
						}
					}
					if got := count(a.types, kib.Noop); got > tt.most || len(a.sent) != n {
						t.Errorf("%d NOOPs for %d messages, want %d at most", got, len(a.sent), tt.most)
					}
				})
			}
		}
	}
}

// count returns how many of the types are equal to one.
func count(types []kib.MsgType, typ kib.MsgType) (n int) {
	for _, t := range types {
		if t == typ {
			n++
		}
	}
	return n
}
