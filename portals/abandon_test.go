package portals_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/cputime"
	"ulnet/lnd/lndtest/spec"
	"ulnet/portals"
)

// TestAbandonMany (PT-41): a peer makes a portal hold messages on many connections, and then all of these end. What
// that costs for each message does not depend on how many messages are held.
func TestAbandonMany(t *testing.T) {
	spec.Covers(t, "PT-41")
	for name, share := range map[string]int{"no bound": 0, "apart": 1} {
		t.Run(name, func(t *testing.T) {
			h, net := newLazy(t)
			if share > 0 {
				if err := h.SetShare(5, share); err != nil {
					t.Fatal(err)
				}
			}
			const few, many = 1000, 10_000
			if one, each := abandon(t, h, net, few), abandon(t, h, net, many); each > 10*one+10*time.Microsecond {
				t.Errorf("of %d held messages each one takes %v to abandon, of %d %v", few, one, many, each)
			}
		})
	}
}

// abandon makes a portal hold n messages and then abandons them, the latest one first. It returns the mean CPU time
// for one message.
func abandon(t *testing.T, h *harness, net *network, n int) time.Duration {
	t.Helper()
	list := make([]*lnd.Delivery, n)
	for i := range list {
		list[i] = begin(t, net, 1, lnd.Hold)
	}
	slices.Reverse(list)
	lost := 0
	took := cputime.Of(func() {
		for _, d := range list {
			if net.up.Abandon(d) {
				lost++
			}
		}
	})
	net.held -= lost
	if lost != n || h.Next(5) != 0 || net.holding() != 0 {
		t.Fatalf("%d of %d messages abandoned, %d are held", lost, n, net.holding())
	}
	return took / time.Duration(n)
}

// TestAbandonSome: of many messages that wait for the share of their peers, some are lost with their connections. The
// others are handled in their order.
func TestAbandonSome(t *testing.T) {
	spec.Covers(t, "PT-9", "PT-35")
	h, net := newLazy(t)
	var got, want []uint64
	openFour(t, h, func(e *portals.Event) { got = append(got, e.HdrData) })
	first := []*lnd.Delivery{begin(t, net, 1, lnd.Accept), begin(t, net, 2, lnd.Accept)}
	r := rand.New(rand.NewPCG(1, 2))
	var lists [2][]*lnd.Delivery
	for range 200 {
		peer := r.IntN(2)
		lists[peer] = append(lists[peer], begin(t, net, 1+peer, lnd.Hold))
	}
	for peer, list := range lists {
		for _, i := range r.Perm(len(list))[:len(list)/2] {
			if !net.up.Abandon(list[i]) || net.up.Abandon(list[i]) {
				t.Fatal("a held message can be given up once")
			}
			net.held--
			list[i] = nil
		}
		want = append(want, first[peer].Header.Put().HdrData)
		for _, d := range list {
			if d != nil {
				want = append(want, d.Header.Put().HdrData)
			}
		}
	}
	net.receive(first[0], nil)
	net.receive(first[1], nil)
	if !slices.Equal(got, want) || net.holding() != 0 {
		t.Errorf("%d are held; handled %v, want %v", net.holding(), got, want)
	}
}
