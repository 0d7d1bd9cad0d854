package discovery

import (
	"slices"

	"ulnet/lnet/wire"
)

// mayPublish reports whether to publish now. It returns false if nothing has changed, or
// nothing but links whose rate of publications is used up. In the second case a timer publishes
// the state of the links later.
func (t *Target) mayPublish() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	next := t.next()
	switch {
	case !sameNIs(next, t.info) || next.Features != t.info.Features:
		return true
	case slices.Equal(next.NIs, t.info.NIs) || t.later:
		return false
	}
	clock := t.table.Node().Clock()
	now := clock.Now()
	if wait := t.spent - (statusBurst-1)*statusInterval - now; wait > 0 {
		t.later = true
		clock.AfterFunc(wait, t.publishLater)
		return false
	}
	t.spent = max(t.spent, now) + statusInterval
	return true
}

func (t *Target) publishLater() {
	t.mu.Lock()
	t.later = false
	t.mu.Unlock()
	t.update()
}

// sameNIs reports whether two infos list the same NIDs in the same order.
func sameNIs(a, b wire.PingInfo) bool {
	return slices.EqualFunc(a.NIs, b.NIs, func(x, y wire.NIStatus) bool { return x.NID == y.NID })
}
