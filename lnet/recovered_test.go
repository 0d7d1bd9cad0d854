package lnet_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/recovery"
	"ulnet/lnet/wire"
)

// TestBackIsTold (HV-10): recovery learns that an NI which is not well may work again, because its link is up again, or because
// the node of a peer NI reports that it is. What changes nothing, and peer NIs that are well, are not told.
func TestBackIsTold(t *testing.T) {
	spec.Covers(t, "HV-10")
	synctest.Test(t, func(t *testing.T) {
		r := newRailed(t, lnet.Config{}, 2, 2)
		if err := r.node.SetNIHealth(self, 500); err != nil {
			t.Fatal(err)
		}
		if err := r.node.SetPeerHealth(peerB, 500); err != nil {
			t.Fatal(err)
		}
		want := func(what string, change func(), targets ...recovery.Target) {
			t.Helper()
			r.told = nil
			change()
			var got []recovery.Target
			for _, in := range r.told {
				if in.Kind == recovery.Heard {
					got = append(got, in.Target)
				}
			}
			if !slices.Equal(got, targets) {
				t.Errorf("%s: told of %v, want %v", what, got, targets)
			}
		}
		const up, down = wire.StatusUp, wire.StatusDown
		want("link down", func() { r.ni.SetLink(errUnplugged) })
		want("link up", func() { r.ni.SetLink(nil) }, recovery.Target{NID: self, Local: true})
		want("link still up", func() { r.ni.SetLink(nil) })
		want("both NIs of the peer down", func() { r.rails(down, down) })
		want("still down", func() { r.rails(down, down) })
		want("both up", func() { r.rails(up, up) }, recovery.Target{NID: peerB})
		want("still up", func() { r.rails(up, up) })
	})
}
