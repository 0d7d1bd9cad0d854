package softroce

import (
	"container/list"
	"net/netip"
)

// byAge lists connections in the order in which they were put there, those of all peers and those of
// each peer, so that the oldest ones can be evicted. The zero value is empty.
type byAge struct {
	all list.List                 // list of *cmConn, oldest first
	of  map[netip.Addr]*list.List // lists by peer, oldest first; none is empty
}

// listed has the elements of a connection in both lists of a byAge.
type listed struct{ all, own *list.Element }

// put adds n to both lists.
func (b *byAge) put(n *cmConn) {
	own := b.of[n.peer]
	if own == nil {
		if b.of == nil {
			b.of = make(map[netip.Addr]*list.List)
		}
		own = list.New()
		b.of[n.peer] = own
	}
	n.listed = listed{all: b.all.PushBack(n), own: own.PushBack(n)}
}

// remove removes n from both lists.
func (b *byAge) remove(n *cmConn) {
	b.all.Remove(n.listed.all)
	own := b.of[n.peer]
	if own.Remove(n.listed.own); own.Len() == 0 {
		delete(b.of, n.peer)
	}
	n.listed = listed{}
}

// oldest returns the oldest connection of all peers, or nil.
func (b *byAge) oldest() *cmConn { return first(&b.all) }

// oldestOf returns the oldest connection of a peer, or nil.
func (b *byAge) oldestOf(peer netip.Addr) *cmConn {
	own := b.of[peer]
	if own == nil {
		return nil
	}
	return first(own)
}

func first(l *list.List) *cmConn {
	e := l.Front()
	if e == nil {
		return nil
	}
	return e.Value.(*cmConn)
}
