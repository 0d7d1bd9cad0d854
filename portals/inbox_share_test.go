package portals_test

import (
	"net/netip"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// begin gives an inbox a message of 4 bytes whose payload has not come yet. It comes by a connection to the
// peer with the given number.
func begin(t *testing.T, net *network, peer int, want lnd.Answer) *lnd.Delivery {
	t.Helper()
	from := there
	from.NID = nid.FromAddr(from.NID.Net(), netip.AddrFrom4([4]byte{10, 0, 7, byte(peer)}))
	d := &lnd.Delivery{Header: putHeader(4, wire.PutCmd{AckMD: wire.NoHandle(), Portal: 5}), From: from}
	d.Header.SrcNID = from.NID
	if answer, err := net.up.Parse(d); answer != want || err != nil {
		t.Fatalf("message of peer %d: answer %v, %v, want %v", peer, answer, err, want)
	}
	return d
}

// TestInboxShare: a peer begins messages on many connections and ends none. When they are a quarter of all that
// an inbox takes, further ones of this peer wait, small ones too, and messages of other peers do not. One
// of those that wait goes on for each that has arrived.
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
