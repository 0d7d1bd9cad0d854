package engine

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
)

// TestDeliveredIsCopied: RM-33: a delivered message stays unchanged when its slot is reused by
// the next message.
func TestDeliveredIsCopied(t *testing.T) {
	spec.Covers(t, "RM-33")
	w := newWorld(t, 2, nil)
	w.form(2)
	m := w.hosts[0].m
	var out Output
	m.Step(w.net.Now()+time.Millisecond, Input{Kind: Send, Data: []byte("first"), Token: 1}, &out)
	s, delivered := m.sender.stream, 0
	for i := range out.Effects {
		e := &out.Effects[i]
		if e.Kind != Deliver {
			continue
		}
		if delivered++; &e.Data[0] == &s.slot(e.Seq).data[0] {
			t.Error("it is where the next message goes")
		}
	}
	if delivered != 1 {
		t.Errorf("delivered %d", delivered)
	}
}
