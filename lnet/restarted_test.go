package lnet_test

import (
	"fmt"
	"slices"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// TestRestartedNode: a NID is heard with another incarnation than before. The connections to the earlier
// incarnation end, to all NIDs of that NID's node, and no others do. A late message of the earlier
// incarnation changes nothing. Neither does the first message from a NID: the NIs of a kernel node have
// different incarnations.
func TestRestartedNode(t *testing.T) {
	spec.Covers(t, "LS-7")
	w := newRails(t)
	w.node.SetPeer(upToDate(peerA, peerB, peer1))
	w.send(peerA, 1, 2, 3, 4)
	w.by(1, 2, 3, 4)
	// Local NID and peer NID of the connections by which messages were sent or heard.
	paths := [][2]nid.NID{{self, peerA}, {self, peerB}, {second, peerB}, {self1, peer1}}
	for i, c := range []struct {
		from        nid.NID
		incarnation uint64
		pid         nid.PID
		ended       uint64 // incarnation whose connections end; 0: none
	}{
		{peerA, 5, nid.LustrePID, 0},
		{peerB, 4, nid.LustrePID, 0}, // the first message from this NID
		{peerB, 5, nid.LustrePID, 4},
		{peerA, 0, nid.LustrePID, 0}, // incarnation 0 means unknown
		{peerA, 5, nid.LustrePID, 0},
		{peerA, 9, nid.UserPID | 3, 0}, // another process with this NID has an incarnation of its own
		{peerB, 6, nid.LustrePID, 5},
		{peerB, 5, nid.LustrePID, 0}, // a late message of the earlier incarnation
		{peerB, 6, nid.LustrePID, 0},
		// The first message of incarnation 6 from peerA ends connections to incarnation 5 again, because NIs of
		// this node may have made further ones since the message from peerB.
		{peerA, 6, nid.LustrePID, 5},
		{peerA, 7, nid.LustrePID, 6},
	} {
		for _, d := range w.drivers {
			d.cut, d.ended = nil, nil
		}
		d := arriving(func(h *wire.Header) { h.SrcNID, h.SrcPID = c.from, c.pid })
		d.From, d.Incarnation = nid.ProcessID{NID: c.from, PID: c.pid}, c.incarnation
		if why := w.arrives(w.ni, d); why != "not dropped" {
			t.Fatalf("message %d was dropped as %q", i, why)
		}
		var cut []string
		for own, d := range w.drivers {
			for j, id := range d.cut {
				cut = append(cut, fmt.Sprintf("%v to %v of %d", own, id, d.ended[j]))
			}
		}
		slices.Sort(cut)
		var want []string
		for _, path := range paths {
			if c.ended != 0 {
				want = append(want, fmt.Sprintf("%v to %v of %d", path[0], path[1], c.ended))
			}
		}
		if slices.Sort(want); !slices.Equal(cut, want) {
			t.Errorf("message %d: closed %v, want %v", i, cut, want)
		}
	}
}
