package portals_test

import (
	"errors"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
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

// TestShareOfCrowded: messages of one NID wait for an MD whose handler is behind. When the handler has caught up, the
// bound holds for them too: one is received at a time.
func TestShareOfCrowded(t *testing.T) {
	spec.Covers(t, "PT-35")
	bubbled(t, func(t *testing.T, h *harness, net *network) {
		if err := errors.Join(h.SetLazy(5), h.SetShare(5, 1)); err != nil {
			t.Fatal(err)
		}
		g := gate(1)
		h.post(5, portals.Match{}, portals.MD{
			Segments: []lnd.Segment{make([]byte, 8)}, Threshold: inf, Options: portals.OpPut | portals.ManageRemote, Handler: g.handle,
		})
		h.comes(net, 0, 1+portals.MaxPending)
		const waiting = 3
		for range waiting {
			begin(t, net, 1, lnd.Hold)
		}
		begin(t, net, 2, lnd.Hold)
		net.stall = true
		g.open(1)
		if len(net.begun) != 2 {
			t.Fatalf("%d messages arrive at once, want one of each of two peers", len(net.begun))
		}
		for i := 0; i < len(net.begun); i++ {
			net.receive(net.begun[i], nil)
		}
		if want := 1 + portals.MaxPending + waiting + 1; len(g.bits) != want || net.holding() != 0 {
			t.Errorf("%d messages came, want %d; %d are held", len(g.bits), want, net.holding())
		}
	})
}

// TestShareGivenUp: messages that wait for a slot are dropped when their portal stops being lazy, and when their NI is removed.
func TestShareGivenUp(t *testing.T) {
	spec.Covers(t, "PT-10", "PT-12", "PT-35")
	for why, end := range map[lnet.DropReason]func(t *testing.T, h *harness) error{
		lnet.LazyCleared: func(_ *testing.T, h *harness) error { return h.ClearLazy(5) },
		lnet.NIShutdown:  func(t *testing.T, h *harness) error { return h.Node().RemoveNI(t.Context(), h.Node().NIs()[0]) },
	} {
		t.Run(why.String(), func(t *testing.T) {
			h, net := newLazy(t)
			if err := h.SetShare(5, 1); err != nil {
				t.Fatal(err)
			}
			for peer := range 3 {
				begin(t, net, peer, lnd.Hold)
				begin(t, net, peer, lnd.Hold)
			}
			if err := end(t, h); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]uint64{why.String(): 6}, h.drops()); diff != "" || net.holding() != 0 {
				t.Errorf("%d held, drops (-want +got):\n%s", net.holding(), diff)
			}
		})
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
