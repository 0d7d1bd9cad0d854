package portals_test

import (
	"net/netip"
	"slices"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// begin gives an inbox a message of 4 bytes from the peer with the given number. The payload of the message
// has not come yet. The test fails unless the answer to the driver is want.
func begin(t *testing.T, net *network, peer int, want lnd.Answer) *lnd.Delivery {
	t.Helper()
	from := process(peer)
	beginnings++
	d := &lnd.Delivery{Header: putHeader(4, wire.PutCmd{AckMD: wire.NoHandle(), Portal: 5, HdrData: beginnings}), From: from}
	d.Header.SrcNID = from.NID
	answer, err := net.up.Parse(d)
	if answer != want || err != nil {
		t.Fatalf("message of peer %d: answer %v, %v, want %v", peer, answer, err, want)
	}
	if answer == lnd.Hold {
		net.mu.Lock()
		net.held++
		net.mu.Unlock()
	}
	return d
}

// process returns the process at the peer with the given number.
func process(peer int) nid.ProcessID {
	return nid.ProcessID{NID: nid.FromAddr(there.NID.Net(), netip.AddrFrom4([4]byte{10, 0, 7, byte(peer)})), PID: there.PID}
}

var beginnings uint64 // number of messages that begin has given to an inbox, and HdrData of the last one

// TestInboxShare: a peer begins messages on many connections and ends none. Once it has begun a quarter of
// the messages that the inbox can receive at once, further messages of this peer wait, small ones too.
// Messages of other peers do not wait. Each time that one of the begun messages has arrived, a waiting one is
// received.
func TestInboxShare(t *testing.T) {
	spec.Covers(t, "PT-35")
	for name, tt := range map[string]struct {
		buffers     int
		handleFirst bool
		share       int
	}{
		"posts first":   {buffers: 4, share: 65},
		"handles first": {buffers: 8, share: 2, handleFirst: true},
		"two buffers":   {buffers: 2, share: 1, handleFirst: true},
	} {
		t.Run(name, func(t *testing.T) {
			h, net := newLazy(t)
			in, got := new(portals.Inbox), 0
			err := in.Open(h.Table, portals.InboxConfig{
				Portal: 5, Buffers: tt.buffers, Size: 8, HandleFirst: tt.handleFirst, Handle: func(*portals.Event, []byte) { got++ },
			})
			if err != nil {
				t.Fatal(err)
			}
			var begun []*lnd.Delivery
			for range tt.share {
				begun = append(begun, begin(t, net, 1, lnd.Accept))
			}
			begin(t, net, 1, lnd.Hold)
			begin(t, net, 1, lnd.Hold)
			net.receive(begin(t, net, 2, lnd.Accept), nil)
			if got != 1 {
				t.Errorf("%d messages came, want the one of the other peer", got)
			}
			net.receive(begun[0], nil)
			if got != 4 {
				t.Errorf("%d messages came after one of the first peer had arrived, want that one, the two that waited, and one more", got)
			}
			begun = append(begun[1:], begin(t, net, 1, lnd.Accept))
			begin(t, net, 1, lnd.Hold)
			for _, d := range begun {
				net.receive(d, nil)
			}
			if n := in.Posted(); got != 5+tt.share || n != tt.buffers {
				t.Errorf("in the end %d messages came and %d buffers wait, want %d and %d", got, n, 5+tt.share, tt.buffers)
			}
		})
	}
}

// openFour opens an inbox with four slots, of which one NID may take one. got is called for each message.
func openFour(t *testing.T, h *harness, got func(*portals.Event)) {
	t.Helper()
	err := new(portals.Inbox).Open(h.Table, portals.InboxConfig{
		Portal: 5, Buffers: 4, Size: 8, HandleFirst: true, Handle: func(e *portals.Event, _ []byte) { got(e) },
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestInboxShareAtOnce: while a message that takes the last slot of a peer's share is matched and not
// arriving yet, another one of that peer comes by another connection. The second message waits.
func TestInboxShareAtOnce(t *testing.T) {
	spec.Covers(t, "PT-35")
	h, net := newLazy(t)
	openFour(t, h, func(*portals.Event) {})
	var second *lnd.Delivery
	armed := true
	h.OnOperation(func() {
		if armed {
			armed = false
			second = begin(t, net, 1, lnd.Hold)
		}
	})
	first := begin(t, net, 1, lnd.Accept)
	if second == nil {
		t.Fatal("no message came meanwhile")
	}
	net.receive(first, nil)
	if n := net.holding(); n != 0 {
		t.Errorf("%d messages are held after the first one has arrived", n)
	}
}

// TestInboxShareOrder: a peer whose share of the inbox is taken has further messages waiting, the first of them since
// a time when there was no buffer at all. They are handled in the order in which they came. While they wait, the inbox
// offers a buffer to one message of each peer only, so it does not go through all of them again and again.
func TestInboxShareOrder(t *testing.T) {
	spec.Covers(t, "PT-9", "PT-35")
	h, net := newLazy(t)
	var got, want []uint64
	openFour(t, h, func(e *portals.Event) { got = append(got, e.HdrData) })
	var begun []*lnd.Delivery
	for peer := range 4 {
		begun = append(begun, begin(t, net, 10+peer, lnd.Accept))
	}
	for range 100 {
		begin(t, net, 1, lnd.Hold)
		want = append(want, beginnings)
	}
	begin(t, net, 2, lnd.Hold)
	if n := h.Next(5); n != 2 {
		t.Errorf("a buffer would be offered to %d messages, want one of each peer", n)
	}
	for _, d := range begun {
		net.receive(d, nil)
	}
	got = slices.DeleteFunc(got, func(n uint64) bool { return !slices.Contains(want, n) })
	if !slices.Equal(got, want) || net.holding() != 0 {
		t.Errorf("%d are held; handled %v, want %v", net.holding(), got, want)
	}
}

// TestInboxShareHandled: with HandleFirst a message that waits for the share of its peer is received when the one before has been
// handled.
func TestInboxShareHandled(t *testing.T) {
	spec.Covers(t, "PT-35")
	h, net := newLazy(t)
	var got, want []uint64
	openFour(t, h, func(e *portals.Event) { got = append(got, e.HdrData) })
	first := begin(t, net, 1, lnd.Accept)
	want = append(want, beginnings)
	for range 3 {
		begin(t, net, 1, lnd.Hold)
		want = append(want, beginnings)
	}
	if net.receive(first, nil); !slices.Equal(got, want) {
		t.Errorf("handled %v, want %v", got, want)
	}
}

// TestInboxShareAbandoned: a held message that takes a slot in the share of its peer is lost with its connection. The next one of
// that peer gets the slot.
func TestInboxShareAbandoned(t *testing.T) {
	spec.Covers(t, "PT-35")
	h, net := newLazy(t)
	var got []uint64
	openFour(t, h, func(e *portals.Event) { got = append(got, e.HdrData) })
	var begun []*lnd.Delivery
	for peer := range 4 {
		begun = append(begun, begin(t, net, 10+peer, lnd.Accept))
	}
	next := begin(t, net, 1, lnd.Hold)
	waits := begin(t, net, 1, lnd.Hold)
	begin(t, net, 1, lnd.Hold)
	last := beginnings
	for _, d := range []*lnd.Delivery{waits, next} {
		if !net.up.Abandon(d) {
			t.Fatalf("message %d was not held", d.Header.Put().HdrData)
		}
		net.held--
	}
	net.receive(begun[0], nil)
	if n := len(got); n != 2 || got[n-1] != last || net.holding() != 0 {
		t.Errorf("handled %v, want message %d as the second; %d are held", got, last, net.holding())
	}
}
