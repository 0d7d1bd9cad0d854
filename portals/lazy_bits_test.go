package portals_test

import (
	"errors"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/lndtest/spec"
	"ulnet/portals"
)

// TestLazyBits: a lazy portal for PUTs with certain match bits drops PUTs with other bits, also while all slots of
// their sender are taken. A PUT that is dropped takes no slot.
func TestLazyBits(t *testing.T) {
	spec.Covers(t, "PT-42")
	h, net := newLazy(t)
	if err := errors.Join(h.SetShare(5, 1), h.SetLazyBits(5, 7)); err != nil {
		t.Fatal(err)
	}
	for _, bits := range []uint64{6, 7, 7, 8} {
		h.arrivePut(net, bits, 0)
	}
	if diff := cmp.Diff(map[string]uint64{"no match": 2}, h.drops()); diff != "" || net.holding() != 2 {
		t.Errorf("%d held, drops (-want +got):\n%s", net.holding(), diff)
	}
	if err := errors.Join(h.ClearLazy(5), h.SetLazy(5)); err != nil {
		t.Fatal(err)
	}
	if h.arrivePut(net, 8, 0); net.holding() != 1 {
		t.Errorf("%d are held on a portal that is lazy anew, want 1", net.holding())
	}
}

// TestLazyBitsErrors: SetLazyBits needs a lazy portal with a bound that SetShare has set.
func TestLazyBitsErrors(t *testing.T) {
	h := newHarness(t)
	openInbox(t, h, func(*portals.Event, []byte) {}) // on portal 5
	if err := errors.Join(h.SetShare(6, 1), h.SetLazy(7)); err != nil {
		t.Fatal(err)
	}
	for _, portal := range []int{-1, 5, 6, 7, 8, portals.Portals} {
		if err := h.SetLazyBits(portal, 1); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("portal %d: %v", portal, err)
		}
	}
}
