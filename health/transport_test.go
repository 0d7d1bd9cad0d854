package health

import (
	"testing"

	"ulnet/lnet/nid"
)

// TestSendingIsBounded: G-CH-1: messages to peers that do not take them hold no more than
// maxSending bytes; the next is not sent, which is counted, until one of them is done.
func TestSendingIsBounded(t *testing.T) {
	var tr transport
	message := make([]byte, 1<<20)
	var held []*sending
	for p := tr.take(message); p != nil && len(held) <= 2*maxSending/len(message); p = tr.take(message) {
		held = append(held, p)
	}
	if n := len(held) * len(message); n != maxSending || tr.bytes != maxSending {
		t.Fatalf("%d bytes on their way, counted as %d, want %d", n, tr.bytes, maxSending)
	}
	if tr.send(nid.ProcessID{}, ServerPortal, message); tr.notSent.Load() != 1 {
		t.Errorf("%d messages not sent, want 1", tr.notSent.Load())
	}
	tr.give(held[0])
	if p := tr.take(message); p == nil {
		t.Error("nothing may be sent though one has left")
	} else {
		tr.give(p)
	}
	for _, p := range held[1:] {
		tr.give(p)
	}
	if tr.bytes != 0 || len(tr.free) > keptSpare {
		t.Errorf("%d bytes on their way, %d kept", tr.bytes, len(tr.free))
	}
}
