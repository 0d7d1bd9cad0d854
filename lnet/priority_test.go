package lnet_test

import (
	"fmt"
	"testing"

	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// TestPriorityBesideEightStreams: eight peers take nothing and have long queues. A priority
// message to any of them leaves at once.
func TestPriorityBesideEightStreams(t *testing.T) {
	const streams, depth, credits = 8, 20, 8
	r := newRig(t, lnd.Tunables{PeerCredits: credits}, lnet.Config{})
	streamTo := func(i int) nid.NID {
		return nid.MustParse(fmt.Sprintf("10.0.1.%d@tcp", i+1))
	}
	for i := range streams {
		for n := range uint64(depth) {
			r.send(streamTo(i), uint64(i)*100+n)
		}
	}
	if got := len(r.inFlight()); got != streams*credits {
		t.Fatalf("%d messages in flight, want %d", got, streams*credits)
	}
	for i := range streams + 1 { // the last stream goes to a peer without a queue
		bits := 1000 + uint64(i)
		m := put(streamTo(i), bits)
		m.Priority = true
		r.node.Send(m)
		if got := r.inFlight(); got[len(got)-1] != bits {
			t.Errorf("stream %d: in flight %v", i, got)
		}
	}
	for r.finalize(nil) {
	}
	for i := range streams {
		if p := r.peer(streamTo(i)); p.Credits != credits || p.Traffic.Sent.Put != depth+1 {
			t.Errorf("stream %d ends with %+v", i, p)
		}
	}
}
