package socklnd

import (
	"container/list"
	"sync/atomic"
)

// handshake is the handshake of one accepted connection, which belongs to no peer yet.
type handshake struct {
	*shake
	ni *NI // NI that the peer wants; nil while unknown; guarded by acceptor.mu
	// place in the list of handshakes; nil once it has left the list; guarded by acceptor.mu
	element *list.Element
	evicted atomic.Bool // whether the handshake was closed to make room
}

// handshakes are the handshakes of an acceptor, whose mu guards them. Their number is bounded. At
// the limit a new one evicts the oldest, so that silent connections keep no peer out.
type handshakes struct {
	max, maxPerAddr int

	list      list.List // list of *handshake, oldest first
	perOrigin map[origin]int
}

// add takes h into the list and closes the oldest handshakes above the limits,
// which it returns.
func (hs *handshakes) add(h *handshake) (evicted []*handshake) {
	from := originOf(h.remote)
	if hs.perOrigin[from] >= hs.maxPerAddr {
		evicted = hs.evict(evicted, func(old *handshake) bool { return originOf(old.remote) == from })
	}
	if hs.list.Len() >= hs.max {
		evicted = hs.evict(evicted, func(*handshake) bool { return true })
	}
	h.element = hs.list.PushBack(h)
	hs.perOrigin[from]++
	return evicted
}

// evict closes the oldest handshake that matches and appends it to evicted.
func (hs *handshakes) evict(evicted []*handshake, match func(*handshake) bool) []*handshake {
	for e := hs.list.Front(); e != nil; e = e.Next() {
		if h := e.Value.(*handshake); match(h) {
			hs.remove(h)
			h.evicted.Store(true)
			_ = h.net.Close()
			return append(evicted, h)
		}
	}
	return evicted
}

// remove removes h from the list at most once.
func (hs *handshakes) remove(h *handshake) {
	if h.element == nil {
		return
	}
	hs.list.Remove(h.element)
	h.element = nil
	from := originOf(h.remote)
	if hs.perOrigin[from]--; hs.perOrigin[from] == 0 {
		delete(hs.perOrigin, from)
	}
}

// each calls f with every handshake, the oldest first.
func (hs *handshakes) each(f func(*handshake)) {
	for e := hs.list.Front(); e != nil; e = e.Next() {
		f(e.Value.(*handshake))
	}
}
