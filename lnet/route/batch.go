package route

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"syscall"

	"ulnet/lnet/nid"
)

// Batch collects routes to add to a table, which Commit adds together: the work for n routes grows
// as n log n. The routes have the positions that they would have if they were added one by one. The
// table must not change before Commit. It is not safe for concurrent use.
type Batch struct {
	table  *Table
	own    []nid.NID // NIDs of the node
	random *rand.Rand
	size   int                    // routes of the table and of the batch
	nets   map[nid.Net]*additions // additions by the net to which they lead
}

// additions are the routes that a batch adds to one net.
type additions struct {
	gateways map[nid.NID]struct{} // gateways of all routes to the net, of the table and of the batch
	list     []addition
}

// addition is a route with its position among those to the same net when it is added.
type addition struct {
	Route
	at int
}

// Batch returns an empty batch for a table of a node with these NIDs.
func (t *Table) Batch(own []nid.NID, random *rand.Rand) *Batch {
	return &Batch{table: t, own: own, random: random, size: t.size, nets: make(map[nid.Net]*additions)}
}

// Add adds a route to the batch; the errors are those of [Table.Add].
func (b *Batch) Add(r Route) error {
	if err := r.check(b.own); err != nil {
		return fmt.Errorf("route %v: %w", r, err)
	}
	to := b.to(r.Net)
	if _, found := to.gateways[r.Gateway]; found {
		return fmt.Errorf("route %v: there is one by this gateway: %w", r, syscall.EEXIST)
	}
	if b.size >= MaxRoutes {
		return fmt.Errorf("route %v: there are %d: %w", r, b.size, syscall.ENOSPC)
	}
	to.list = append(to.list, addition{r, b.random.IntN(len(to.gateways) + 1)})
	to.gateways[r.Gateway] = struct{}{}
	b.size++
	return nil
}

func (b *Batch) to(net nid.Net) *additions {
	to := b.nets[net]
	if to == nil {
		to = &additions{gateways: make(map[nid.NID]struct{})}
		for _, r := range b.table.Of(net) {
			to.gateways[r.Gateway] = struct{}{}
		}
		b.nets[net] = to
	}
	return to
}

// Commit adds the routes of the batch to the table. The batch cannot be used afterwards.
func (b *Batch) Commit() {
	t := b.table
	var others []routes // the lists of the nets to which the table has no routes yet
	for net, to := range b.nets {
		at, found := t.find(net)
		switch {
		case len(to.list) == 0:
		case found:
			t.nets[at].list = insert(t.nets[at].list, to.list)
		default:
			others = append(others, routes{net, insert(nil, to.list)})
		}
	}
	t.size = b.size
	if len(others) == 1 {
		at, _ := t.find(others[0].net)
		t.nets = slices.Insert(t.nets, at, others...)
		return
	}
	t.nets = append(t.nets, others...)
	slices.SortFunc(t.nets, func(a, b routes) int { return a.net.Compare(b.net) })
}

// insert returns a new list that has the routes of list and of added, as if those of added had been
// inserted into list one after the other, each at its position. To save work, insert goes from the last
// addition to the first. The position of the last one is final. That of an earlier one counts only the
// places that are free, because the later ones were not there yet. The routes of list get the places that
// are left.
func insert(list []Route, added []addition) []Route {
	all := make([]Route, len(list)+len(added))
	taken, free := make([]bool, len(all)), newSlots(len(all))
	for _, a := range slices.Backward(added) {
		at := free.take(a.at)
		all[at], taken[at] = a.Route, true
	}
	for at := range all {
		if !taken[at] {
			all[at], list = list[0], list[1:]
		}
	}
	return all
}

// slots are the free positions of a list, as a Fenwick tree: element i, from 1 on, is the number of free
// ones among the i&-i positions that end with position i-1.
type slots []int

func newSlots(size int) slots {
	s := make(slots, size+1)
	for i := range s {
		s[i] = i & -i
	}
	return s
}

// take takes the free position before which k others are free, and returns its index.
func (s slots) take(k int) (at int) {
	for step := 1 << bits.Len(uint(len(s))); step > 0; step >>= 1 {
		if next := at + step; next < len(s) && s[next] <= k {
			at, k = next, k-s[next]
		}
	}
	for i := at + 1; i < len(s); i += i & -i {
		s[i]--
	}
	return at
}
