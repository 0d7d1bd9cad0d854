package portals_test

import (
	"errors"
	"syscall"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/portals"
)

// TestShare: on a portal with a bound, one PUT of each NID arrives at a time. The bound ends with ClearLazy, also for a
// message that is still arriving.
func TestShare(t *testing.T) {
	spec.Covers(t, "PT-35")
	h, net := newLazy(t)
	if err := h.SetShare(5, 1); err != nil {
		t.Fatal(err)
	}
	got := 0
	h.post(5, portals.Match{}, portals.MD{
		Segments: []lnd.Segment{make([]byte, 8)}, Threshold: portals.ThresholdInfinite, Options: portals.OpPut | portals.ManageRemote,
		Handler: func(*portals.Event) { got++ },
	})
	first := begin(t, net, 1, lnd.Accept)
	begin(t, net, 1, lnd.Hold)
	other := begin(t, net, 2, lnd.Accept)
	if net.receive(first, nil); got != 2 || net.holding() != 0 {
		t.Errorf("%d messages came and %d are held, want the two of the first peer", got, net.holding())
	}
	if err := h.ClearLazy(5); err != nil {
		t.Fatal(err)
	}
	if err := h.SetLazy(5); err != nil {
		t.Fatal(err)
	}
	begin(t, net, 2, lnd.Accept)
	if net.receive(other, nil); got != 3 {
		t.Errorf("%d messages came, want 3", got)
	}
}

// TestShareErrors: a bound that cannot be set is an error.
func TestShareErrors(t *testing.T) {
	h := newHarness(t)
	openInbox(t, h, func(*portals.Event, []byte) {})
	for _, c := range []struct {
		portal, limit int
		want          error
	}{{-1, 1, syscall.EINVAL}, {6, 0, syscall.EINVAL}, {5, 1, portals.ErrInUse}, {6, 1, nil}, {6, 1, portals.ErrInUse}} {
		if err := h.SetShare(c.portal, c.limit); !errors.Is(err, c.want) {
			t.Errorf("portal %d, limit %d: %v, want %v", c.portal, c.limit, err, c.want)
		}
	}
}
