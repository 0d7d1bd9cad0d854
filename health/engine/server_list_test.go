package engine

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"ulnet/health/wire"
)

// TestList: a list has the clients that match, in the order of their ids and up to the requested
// length. It also has the number of all that match.
func TestList(t *testing.T) {
	const clients = 2000
	c := newCrowd(t, clients)
	all := c.s.Clients()
	if len(all) != clients || !slices.IsSortedFunc(all, func(a, b ClientInfo) int { return a.Client.Compare(b.Client) }) {
		t.Fatalf("%d clients, or not by their ids", len(all))
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, limit := range []int{0, 1, 2, 3, 100, clients - 1, clients, 2 * clients} {
		of := make(map[wire.ClientID]bool)
		var want []ClientInfo
		for i := range all {
			if r.IntN(3) > 0 {
				of[all[i].Client] = true
				want = append(want, all[i])
			}
		}
		list, matching := c.s.List(limit, func(c *ClientInfo) bool { return of[c.Client] })
		if list == nil || matching != len(want) || !slices.Equal(list, want[:min(limit, len(want))]) {
			t.Errorf("limit %d: %d of %d, want %d", limit, len(list), matching, len(want))
		}
	}
}

// TestListCost: listing a few of very many clients takes no memory for all of them. Any user may
// ask for lists again and again, and while the server makes one, it does nothing else.
func TestListCost(t *testing.T) {
	c := newCrowd(t, 20_000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c.s.List(10, func(*ClientInfo) bool { return true })
	runtime.ReadMemStats(&after)
	if cost := after.TotalAlloc - before.TotalAlloc; cost > 64<<10 {
		t.Errorf("%d bytes for ten clients", cost)
	}
}
