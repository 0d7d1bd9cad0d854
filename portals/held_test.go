package portals_test

import (
	"slices"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// fill makes messages of peers arrive in turn until the portal has dropped one of each, and returns how many of each it
// holds.
func fill(t *testing.T, h *harness, net *network, peers ...int) (held []int) {
	t.Helper()
	held = make([]int, len(peers))
	full := make([]bool, len(peers))
	for slices.Contains(full, false) {
		for i, peer := range peers {
			if full[i] {
				continue
			}
			before := net.holding()
			if err := net.arriveFrom(process(peer), fromProcess(peer), nil); err != nil {
				t.Fatal(err)
			}
			if net.holding() > before {
				held[i]++
			} else {
				full[i] = true
			}
		}
	}
	return held
}

func fromProcess(peer int) wire.Header {
	return from(process(peer), putHeader(4, wire.PutCmd{AckMD: wire.NoHandle(), Portal: 5}))
}

// TestHeldShare (PT-43): peers send messages that a portal holds, on as many connections as they like. The portal
// holds as many messages of each peer as it has room left for, so that messages of another peer are held as well.
func TestHeldShare(t *testing.T) {
	spec.Covers(t, "PT-43")
	for name, tt := range map[string]struct {
		share int
		peers []int
		want  int
	}{
		"one":        {peers: []int{1}, want: portals.MaxHeld / 2},
		"two":        {peers: []int{1, 2}, want: portals.MaxHeld / 3},
		"two, apart": {peers: []int{1, 2}, want: portals.MaxHeld / 3, share: 1},
	} {
		t.Run(name, func(t *testing.T) {
			h, net := newLazy(t)
			if tt.share > 0 {
				if err := h.SetShare(5, tt.share); err != nil {
					t.Fatal(err)
				}
			}
			for i, n := range fill(t, h, net, tt.peers...) {
				if n < tt.want || n > tt.want+1 {
					t.Errorf("peer %d: %d messages are held, want %d", tt.peers[i], n, tt.want)
				}
			}
			if n := fill(t, h, net, 9)[0]; n < tt.want/2 {
				t.Errorf("of another peer %d messages are held, want %d", n, tt.want/2)
			}
			if err := h.ClearLazy(5); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestHeldAgain (PT-43): messages that a portal no longer holds count neither for their peer nor for the portal, however
// they have left.
func TestHeldAgain(t *testing.T) {
	spec.Covers(t, "PT-43")
	for name, leave := range map[string]func(t *testing.T, h *harness, list []*lnd.Delivery, net *network) error{
		"cleared":          func(_ *testing.T, h *harness, _ []*lnd.Delivery, _ *network) error { return h.ClearLazy(5) },
		"apart, cleared":   func(_ *testing.T, h *harness, _ []*lnd.Delivery, _ *network) error { return h.ClearLazy(5) },
		"abandoned":        abandonAll,
		"apart, abandoned": abandonAll,
		"taken":            take(8),
		"apart, taken":     take(8),
		"too long":         take(2),
		"apart, too long":  take(2),
	} {
		t.Run(name, func(t *testing.T) {
			h, net := newLazy(t)
			if name[:5] == "apart" {
				if err := h.SetShare(5, 1); err != nil {
					t.Fatal(err)
				}
			}
			var list []*lnd.Delivery
			for i := range 20 {
				list = append(list, begin(t, net, i%3, lnd.Hold))
			}
			if h.Held(5) != len(list) {
				t.Fatalf("%d are held", h.Held(5))
			}
			if err := leave(t, h, list, net); err != nil {
				t.Fatal(err)
			}
			if n := h.Held(5); n != 0 || net.holding() != 0 {
				t.Errorf("%d count as held, %d are", n, net.holding())
			}
		})
	}
}

func abandonAll(t *testing.T, _ *harness, list []*lnd.Delivery, net *network) error {
	for _, d := range list {
		if !net.up.Abandon(d) {
			t.Error("a message is not held")
		}
		net.held--
	}
	return nil
}

// take returns a function that attaches an MD of n bytes to the portal, which holds messages of 4 bytes. The MD takes
// them if it is long enough; otherwise they are dropped.
func take(n int) func(*testing.T, *harness, []*lnd.Delivery, *network) error {
	return func(_ *testing.T, h *harness, _ []*lnd.Delivery, _ *network) error {
		h.post(5, portals.Match{}, portals.MD{
			Segments: []lnd.Segment{make([]byte, n)}, Threshold: inf, Options: portals.OpPut | portals.ManageRemote, Handler: func(*portals.Event) {},
		})
		return nil
	}
}

// TestHeldMost: the number of messages that a portal holds is limited, however many peers have sent them.
func TestHeldMost(t *testing.T) {
	h, net := newLazy(t)
	peers := 0
	for ; peers == 0 || net.holding() < portals.MaxHeld; peers++ {
		if n := fill(t, h, net, peers)[0]; n == 0 {
			t.Fatalf("no message of peer %d is held, although only %d of others are", peers, net.holding())
		}
	}
	if n := fill(t, h, net, peers)[0]; n != 0 || net.holding() != portals.MaxHeld {
		t.Errorf("%d are held", net.holding())
	}
	if n := h.drops()[lnet.LazyFull.String()]; n != uint64(peers)+1 {
		t.Errorf("%d dropped, want one of each of %d peers", n, peers+1)
	}
	if err := h.ClearLazy(5); err != nil {
		t.Fatal(err)
	}
}
