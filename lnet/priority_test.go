package lnet_test

import (
	"fmt"
	"slices"
	"testing"

	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// TestPriorityBesideEightStreams: eight peers with long queues. A priority
// message to one of them is the next to leave, before all that waits for the
// same peer, and one to another peer leaves at once.
func TestPriorityBesideEightStreams(t *testing.T) {
	const streams, depth, credits = 8, 20, 8
	r := newRig(t, lnd.Tunables{PeerCredits: credits}, lnet.Config{})
	streamTo := func(i int) nid.NID {
		return nid.MustParse(fmt.Sprintf("10.0.1.%d@tcp", i+1))
	}
	urgent := func(to nid.NID, bits uint64) {
		m := put(to, bits)
		m.Priority = true
		r.node.Send(m)
	}
	for i := range streams {
		for n := range uint64(depth) {
			r.send(streamTo(i), uint64(i)*100+n)
		}
	}
	for i := range streams {
		urgent(streamTo(i), 1000+uint64(i))
	}
	if got := len(r.inFlight()); got != streams*credits {
		t.Fatalf("%d messages in flight, want %d", got, streams*credits)
	}
	urgent(streamTo(streams), 2000)
	if got := r.inFlight(); got[len(got)-1] != 2000 {
		t.Errorf("to an idle peer: in flight %v", got)
	}
	for i := range streams {
		for range credits { // of stream i
			r.finalize(nil)
		}
		if got := r.inFlight(); !slices.Contains(got, 1000+uint64(i)) {
			t.Errorf("stream %d: in flight %v", i, got)
		}
	}
	for r.finalize(nil) {
	}
	for i := range uint64(streams) {
		place := func(bits uint64) int { return slices.Index(r.up.order, bits) }
		if place(1000+i) > place(i*100+credits) {
			t.Errorf("stream %d: priority message left behind the first that waited", i)
		}
	}
}
