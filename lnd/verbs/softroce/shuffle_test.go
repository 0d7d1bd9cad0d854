package softroce

import (
	"net/netip"
	"testing"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/emulator"
)

// TestShuffle: a shuffle is a permutation, and the method index is the inverse of the method number.
func TestShuffle(t *testing.T) {
	for _, bits := range []uint{8, 12} {
		s := newShuffle(bits)
		seen := make(map[uint32]bool)
		for i := range uint32(1) << bits {
			n := s.number(i)
			if n >= 1<<bits || seen[n] || s.index(n) != i {
				t.Fatalf("%d bits: index %d has the number %d, which is at index %d; seen %v", bits, i, n, s.index(n), seen[n])
			}
			seen[n] = true
		}
	}
	for _, s := range []shuffle{newShuffle(24), newShuffle(32), {}} {
		for i := range uint32(1000) {
			if n := s.number(i); s.index(n) != i || s.half == 12 && n>>24 != 0 || s.half == 0 && n != i {
				t.Fatalf("index %d has the number %d, which is at index %d", i, n, s.index(n))
			}
		}
	}
}

// TestNumbersTellNothing: the numbers of a connection cannot be guessed from those of the one before.
func TestNumbersTellNothing(t *testing.T) {
	v := newVirtual(t, 1, emulator.Faults{})
	n := openNode(t, NewOpener(Options{Network: v.net}), verbs.OpenConfig{Addr: netip.MustParseAddr("10.0.0.1"), Clock: v.clock})
	h := n.device.(*device).hub
	lastQP, lastID := h.demux.reserve(), h.cm.cm.open(cmConn{}).id
	nearQPs, nearIDs := 0, 0
	for range 50 {
		q, id := h.demux.reserve(), h.cm.cm.open(cmConn{}).id
		if d := int64(q) - int64(lastQP); max(d, -d) <= 1000 {
			nearQPs++
		}
		if d := int64(id) - int64(lastID); max(d, -d) <= 1000 {
			nearIDs++
		}
		lastQP, lastID = q, id
	}
	if nearQPs > 5 || nearIDs > 5 {
		t.Errorf("of 50 queue pairs %d had a number near the one before, of 50 connections %d", nearQPs, nearIDs)
	}
}

// TestHadShuffled: the method had knows which numbers a device has used, even if they are shuffled.
func TestHadShuffled(t *testing.T) {
	d := newDemultiplexer(7)
	d.shuffle = newShuffle(24)
	given := make(map[ibta.QPN]bool)
	for range 1000 {
		q := d.reserve()
		if !isQP(q) || given[q] {
			t.Fatalf("%#x was given", uint32(q))
		}
		given[q] = true
	}
	for q := range ibta.QPN(100_000) {
		if isQP(q) && d.had(q) != given[q] {
			t.Errorf("%#x: had %v", uint32(q), !given[q])
		}
	}
	for q := range given {
		if !d.had(q) {
			t.Errorf("%#x was given, and is not known", uint32(q))
		}
	}
}
