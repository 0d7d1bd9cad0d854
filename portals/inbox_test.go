package portals_test

import (
	"errors"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

func openInbox(t *testing.T, h *harness, handle func(*portals.Event, []byte)) *portals.Inbox {
	t.Helper()
	in := new(portals.Inbox)
	if err := in.Open(h.Table, portals.InboxConfig{Portal: 5, Buffers: 2, Size: 8, Handle: handle}); err != nil {
		t.Fatal(err)
	}
	return in
}

// TestInbox: messages that waited for the inbox, and later ones, arrive in order, however many
// there are. A message that is too long for a buffer is dropped.
func TestInbox(t *testing.T) {
	h, net := newLazy(t)
	for _, n := range []uint32{1, 2, 9, 3, 4, 5} {
		h.arrivePut(net, uint64(n), n)
	}
	var lengths []uint32
	in := openInbox(t, h, func(e *portals.Event, data []byte) {
		if uint32(len(data)) != e.MLength || uint64(e.MLength) != e.MatchBits {
			t.Errorf("%d bytes for %v", len(data), e)
		}
		lengths = append(lengths, e.MLength)
	})
	h.arrivePut(net, 6, 6)
	if diff := cmp.Diff([]uint32{1, 2, 3, 4, 5, 6}, lengths); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]uint64{"too long": 1}, h.drops()); diff != "" {
		t.Errorf("drops (-want +got):\n%s", diff)
	}
	if n := in.Posted(); n != 2 {
		t.Errorf("%d buffers wait, want 2", n)
	}
}

// TestInboxPostsFirst: while a handler reads a message others arrive, each in memory of its
// own.
func TestInboxPostsFirst(t *testing.T) {
	h := newHarness(t)
	var messages []string
	var in *portals.Inbox
	in = openInbox(t, h, func(_ *portals.Event, data []byte) {
		if in == nil || in.Posted() != 2 {
			t.Error("the next buffer is not posted while a message is handled")
		}
		if string(data) == "first" {
			h.putTo(5, "second")
		}
		messages = append(messages, string(data))
	})
	h.putTo(5, "first")
	if diff := cmp.Diff([]string{"first", "second"}, messages); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// TestInboxHandleFirst: with HandleFirst, messages that waited for a buffer are handled after
// the message before them, and in their order.
func TestInboxHandleFirst(t *testing.T) {
	h, net := newLazy(t)
	var lengths []uint32
	busy := false
	in := new(portals.Inbox)
	err := in.Open(h.Table, portals.InboxConfig{Portal: 5, Buffers: 1, Size: 8, HandleFirst: true, Handle: func(e *portals.Event, _ []byte) {
		if busy {
			t.Error("a message is handled while another is")
		}
		busy = true
		if len(lengths) == 0 {
			h.arrivePut(net, 2, 2) // both PUTs come on other connections, while this handler runs
			h.arrivePut(net, 3, 3)
		}
		lengths = append(lengths, e.MLength)
		busy = false
	}})
	if err != nil {
		t.Fatal(err)
	}
	h.arrivePut(net, 1, 1)
	if diff := cmp.Diff([]uint32{1, 2, 3}, lengths); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if posted, spare := in.Posted(), in.Spare(); posted != 1 || spare != 0 {
		t.Errorf("%d buffers wait and %d are kept, want 1 and 0", posted, spare)
	}
}

// TestInboxTruncate: with Truncate, a message that is too long for a buffer arrives with its
// beginning only.
func TestInboxTruncate(t *testing.T) {
	h, net := newLazy(t)
	var got [][2]uint32
	in := new(portals.Inbox)
	err := in.Open(h.Table, portals.InboxConfig{Portal: 5, Size: 8, Truncate: true, Handle: func(e *portals.Event, data []byte) {
		got = append(got, [2]uint32{uint32(len(data)), e.RLength})
	}})
	if err != nil {
		t.Fatal(err)
	}
	h.arrivePut(net, 1, 9)
	h.arrivePut(net, 1, 8)
	if diff := cmp.Diff([][2]uint32{{8, 9}, {8, 8}}, got); diff != "" {
		t.Errorf("lengths here and as sent (-want +got):\n%s", diff)
	}
}

// TestInboxKeepsBuffer: the memory of a message is not reused until its handler returns, however many
// messages arrive while it runs. The inbox keeps buffers that it made for these messages, but no more
// than its number of buffers.
func TestInboxKeepsBuffer(t *testing.T) {
	spec.Covers(t, "PT-35")
	const nested = 10
	h, net := newLazy(t)
	inUse, depth := make(map[*byte]bool), 0
	in := openInbox(t, h, func(_ *portals.Event, data []byte) {
		memory := &data[0]
		if inUse[memory] {
			t.Error("a message has come into the memory of one that is handled")
		}
		inUse[memory] = true
		if depth++; depth < nested {
			h.arrivePut(net, 1, 4) // this PUT comes on another connection, while the handler runs
		}
	})
	h.arrivePut(net, 1, 4)
	if len(inUse) != nested {
		t.Errorf("%d messages, want %d", len(inUse), nested)
	}
	if n := in.Spare(); n > 2 {
		t.Errorf("%d buffers are kept, want 2 at most", n)
	}
	in.Close()
	if n := in.Spare(); n != 0 {
		t.Errorf("%d buffers are kept after Close", n)
	}
}

// TestInboxUnfinished: messages whose payload does not come occupy a buffer each, but others still find one.
func TestInboxUnfinished(t *testing.T) {
	spec.Covers(t, "PT-35")
	h, net := newLazy(t)
	got := 0
	in := openInbox(t, h, func(*portals.Event, []byte) { got++ })
	begun := make([]*lnd.Delivery, 8)
	for i := range begun {
		begun[i] = &lnd.Delivery{Header: putHeader(4, wire.PutCmd{AckMD: wire.NoHandle(), Portal: 5}), From: there}
		if answer, err := net.up.Parse(begun[i]); answer != lnd.Accept || err != nil {
			t.Fatalf("message %d: answer %v, %v", i, answer, err)
		}
	}
	if n := in.Posted(); n != 2 {
		t.Errorf("%d buffers wait, want 2", n)
	}
	h.arrivePut(net, 1, 4)
	if got != 1 || net.holding() != 0 {
		t.Errorf("%d messages came and %d are held, want 1 and 0", got, net.holding())
	}
	for _, d := range begun {
		net.receive(d, nil)
	}
	if posted, spare := in.Posted(), in.Spare(); got != 9 || posted != 2 || spare > 2 {
		t.Errorf("in the end %d messages came, %d buffers wait and %d are cached, want 9, 2 and 2 at most", got, posted, spare)
	}
}

// TestInboxUnfinishedBound: the memory of messages that have begun to arrive is bounded. Beyond the bound
// messages wait until an earlier one has arrived.
func TestInboxUnfinishedBound(t *testing.T) {
	h, net := newLazy(t)
	in, got := new(portals.Inbox), 0
	err := in.Open(h.Table, portals.InboxConfig{Portal: 5, Buffers: 1, Size: 32 << 20, Handle: func(*portals.Event, []byte) { got++ }})
	if err != nil {
		t.Fatal(err)
	}
	begun := make([]*lnd.Delivery, 3)
	for i := range begun {
		begun[i] = begin(t, net, i, lnd.Accept)
	}
	h.arrivePut(net, 1, 4)
	if in.Posted() != 0 || net.holding() != 1 {
		t.Errorf("%d buffers wait and %d messages are held, want 0 and 1", in.Posted(), net.holding())
	}
	for _, d := range begun {
		net.receive(d, nil)
	}
	if got != 4 || net.holding() != 0 || in.Posted() != 1 {
		t.Errorf("in the end %d messages came, %d are held and %d buffers wait, want 4, 0 and 1", got, net.holding(), in.Posted())
	}
}

// TestInboxClose: an inbox that was closed, once or twice, posts no buffers, and its portal holds no messages.
// Another inbox can be opened at the portal.
func TestInboxClose(t *testing.T) {
	h, net := newLazy(t)
	in := openInbox(t, h, func(*portals.Event, []byte) { t.Error("a message after Close") })
	in.Close()
	in.Close()
	h.arrivePut(net, 1, 4)
	if n := net.holding(); n != 0 {
		t.Errorf("%d messages wait for nobody", n)
	}
	if n := in.Posted(); n != 0 {
		t.Errorf("%d buffers are left", n)
	}
	in.Refill()
	if n := in.Posted(); n != 0 {
		t.Errorf("%d buffers posted after Close", n)
	}
	got := 0
	again := openInbox(t, h, func(*portals.Event, []byte) { got++ })
	h.arrivePut(net, 1, 4)
	if got != 1 {
		t.Errorf("%d messages in the second inbox, want 1", got)
	}
	again.Close()
}

// TestInboxErrors: the error of an inbox that cannot be opened gives the reason.
func TestInboxErrors(t *testing.T) {
	h := newHarness(t)
	var in portals.Inbox
	in.Refill() // agents may start before their inbox is open
	if err := in.Open(h.Table, portals.InboxConfig{Portal: 5}); err == nil {
		t.Error("an inbox without a handler was opened")
	}
	err := in.Open(h.Table, portals.InboxConfig{Portal: 1 << 20, Handle: func(*portals.Event, []byte) {}})
	if !errors.Is(err, syscall.EINVAL) {
		t.Errorf("a portal that does not exist: %v, want EINVAL", err)
	}
	first := openInbox(t, h, func(*portals.Event, []byte) {})
	busy := portals.InboxConfig{Portal: 5, Handle: func(*portals.Event, []byte) {}}
	if err := in.Open(h.Table, busy); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("a portal with an inbox: %v, want EBUSY", err)
	}
	first.Close()
	if err := in.Open(h.Table, busy); err != nil {
		t.Errorf("a portal whose inbox was closed: %v", err)
	}
	in.Close()
}

// putTo sends text to a portal of this node.
func (h *harness) putTo(portal int, text string) {
	h.t.Helper()
	md := h.bind(portals.MD{Segments: []portals.Segment{[]byte(text)}, Threshold: 1})
	err := h.Put(portals.PutRequest{MD: md, Target: h.self, Portal: portal})
	if err != nil {
		h.t.Fatal(err)
	}
}
