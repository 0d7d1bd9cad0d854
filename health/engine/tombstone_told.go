package engine

import (
	"cmp"
	"slices"
	"time"

	"ulnet/health/wire"
)

// A server reports its tombstones to servers that ask for them, each incarnation by itself: the tombstone of a later
// incarnation may be that of another node, which has used the client's id.

// young returns the tombstones not older than age, the youngest first, split into pages of one
// message each. There is at least one page. The result cut is the number of tombstones that did
// not fit. Some tombstones are not reported to other servers, see untold.
func (t *tombstones) young(now, lasting, age time.Duration) (pages []wire.Entries, cut uint64) {
	pages = []wire.Entries{nil}
	var instant time.Duration
	var run map[wire.ClientID]bool // clients of tombstones that expire at this instant; the queue may have a client twice for it
	for k := len(t.queue) - 1; k >= 0; k-- {
		p := t.queue[k]
		left := p.until - now
		if left <= 0 || lasting-left > age {
			continue
		}
		if run == nil || p.until != instant {
			instant, run = p.until, map[wire.ClientID]bool{}
		}
		if run[p.id] {
			continue
		}
		run[p.id] = true
		for _, g := range t.reported(p) {
			last := len(pages) - 1
			if pages[last].Len() == wire.MaxEntries {
				if last++; last == maxPages {
					return pages, uint64(k) + 1
				}
				pages = append(pages, nil)
			}
			e := wire.Entry{Client: p.id, Incarnation: g.incarnation, Mark: uint8(255 * left / lasting), Epoch: g.epoch}
			pages[last] = e.AppendTo(pages[last])
		}
	}
	return pages, 0
}

// reported returns the client's tombstones that expire at the time of the entry and that this server reports to others.
func (t *tombstones) reported(p slot) []tombstone {
	return slices.DeleteFunc(t.list(p.id), func(g tombstone) bool { return !p.ends(g) || g.void || g.untold() })
}

// onlyLeft reports whether the incarnation has a tombstone because it has disconnected from this server, and no other
// server has evicted it.
func (g *tombstone) onlyLeft() bool { return g.left && g.from == noSlot }

// untold reports whether this server does not report a tombstone to others. It does not if the client has only left: any node
// can connect with the id of a client that this server does not know, and leave. Nor does it if three things hold: other
// servers have reported the tombstone, it names no choice of a master, and this server knows of a withdrawal. Then the
// client may be alive, and perhaps only one server has evicted it, as an orphan. Without this rule the tombstone of
// that one server could become that of most servers.
func (g *tombstone) untold() bool {
	return g.onlyLeft() || g.from == unnamed && g.epoch == 0 && g.taken.any()
}

// sort restores the order of expiry in the queue after tombstones were added out of order.
func (t *tombstones) sort() {
	byEnd := func(a, b slot) int { return cmp.Compare(a.until, b.until) }
	if !slices.IsSortedFunc(t.queue, byEnd) {
		slices.SortStableFunc(t.queue, byEnd)
	}
}
