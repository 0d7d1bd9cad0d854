package portals_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/portals"
)

// TestInboxKeep: the buffer of a message that a handler keeps is not used again until the
// handler releases it, and it can be released only once. At most MaxKept messages are kept, and
// further messages wait.
func TestInboxKeep(t *testing.T) {
	h, net := newLazy(t)
	var in portals.Inbox
	var kept []portals.Kept
	memory := make(map[*byte]bool)
	err := in.Open(h.Table, portals.InboxConfig{Portal: 5, Buffers: 2, Size: 8, MaxKept: 3, Handle: func(e *portals.Event, data []byte) {
		if memory[&data[0]] {
			t.Error("a message has come into memory that is kept")
		}
		memory[&data[0]] = true
		kept = append(kept, in.Keep(e))
	}})
	if err != nil {
		t.Fatal(err)
	}
	for range 9 {
		h.arrivePut(net, 1, 4)
	}
	// MaxKept is 3, but two further buffers are posted already when the third message is kept.
	if len(kept) != 5 || net.holding() != 4 || in.Posted() != 0 {
		t.Fatalf("%d messages are kept, %d wait, for %d buffers", len(kept), net.holding(), in.Posted())
	}
	clear(memory)
	kept[0].Release()
	kept[1].Release()
	kept[1].Release() // a second Release has no effect
	if len(kept) != 5 || net.holding() != 4 {
		t.Errorf("with as many kept as may be, %d messages came", len(kept)-5)
	}
	kept[2].Release()
	if len(kept) != 6 || net.holding() != 3 {
		t.Errorf("with one less, %d came, %d wait", len(kept)-5, net.holding())
	}
	in.Close()
	for _, k := range kept {
		k.Release()
	}
	if in.Posted() != 0 || in.Spare() != 0 {
		t.Errorf("after Close %d buffers are posted, %d kept for later", in.Posted(), in.Spare())
	}
}

// TestInboxReleaseEarly: a handler that calls Keep and then Release still has the memory
// until it returns. The buffer is given back once.
func TestInboxReleaseEarly(t *testing.T) {
	h, net := newLazy(t)
	var in portals.Inbox
	var first []byte
	err := in.Open(h.Table, portals.InboxConfig{Portal: 5, Buffers: 1, Size: 8, Handle: func(e *portals.Event, data []byte) {
		k := in.Keep(e)
		k.Release()
		k.Release()
		if first == nil {
			first = data
			h.arrivePut(net, 1, 4)
		} else if len(first) > 0 && &first[0] == &data[0] {
			t.Error("a message has come into memory that a handler looks at")
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	h.arrivePut(net, 1, 4)
	if in.Posted() != 1 || in.Spare() != 1 {
		t.Errorf("%d buffers are posted, %d spare, want 1 and 1", in.Posted(), in.Spare())
	}
	in.Close()
}

// TestInboxAck: an inbox acknowledges messages that it has handled if it is configured to,
// and none otherwise.
func TestInboxAck(t *testing.T) {
	for ack, want := range map[bool][]string{false: {"handled", "SEND"}, true: {"handled", "SEND", "ACK!"}} {
		h := newHarness(t)
		var got []string
		var in portals.Inbox
		err := in.Open(h.Table, portals.InboxConfig{Portal: 5, Ack: ack, Handle: func(*portals.Event, []byte) {
			got = append(got, "handled")
		}})
		if err != nil {
			t.Fatal(err)
		}
		md := h.bind(portals.MD{Segments: []portals.Segment{make([]byte, 8)}, Threshold: 2, Handler: func(e *portals.Event) {
			got = append(got, kinds([]portals.Event{*e})...)
		}})
		if err := h.Put(portals.PutRequest{MD: md, Ack: true, Target: h.self, Portal: 5}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Ack %v (-want +got):\n%s", ack, diff)
		}
		in.Close()
	}
}
