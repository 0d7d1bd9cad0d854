package portals

import (
	"maps"
	"slices"
	"syscall"

	"ulnet/lnet/nid"
)

// share bounds how many PUTs of one neighbour may be arriving at a lazy portal at once. A neighbour is known by the
// NID of the other end of its connections. For messages that a gateway passes on, the gateway is the neighbour: the
// NIDs of their sources could be forged, and a gateway receives a message as a whole before it passes it on, so that
// one of its senders cannot stop those of others. A peer sends the rest of a message as late as it likes, and may
// have thousands of connections; without a bound it could take all buffers of the portal by messages that it does not
// end. A message takes a slot of its neighbour when it is matched, when it is held because there is no buffer, or
// when the MD that it has waited for is not crowded any more. When all slots are taken, further messages of that
// neighbour are held apart. Nothing looks at them until one of the earlier messages has arrived and leaves its slot
// to the next one.
type share struct {
	portal *portal           // its lock guards the fields below
	inbox  *Inbox            // inbox of the portal; nil: SetShare was called
	only   *uint64           // match bits of the PUTs that are held; nil: all; see SetLazyBits
	limit  int               // number of slots of each neighbour
	late   bool              // a message leaves its slot when its handler has returned, not as soon as it has arrived
	slots  map[nid.NID]slots // slots by the neighbour's NID; neighbours without messages are not there
	apart  int               // number of the messages that wait for a slot
}

// slots are the slots that messages of one neighbour take.
type slots struct {
	taken int           // number of messages that are arriving, or are in portal.held
	apart operationList // messages that wait for a slot
}

// SetShare bounds how many PUTs of one neighbour may be arriving at a lazy portal at once. Further ones are held
// until one of the earlier ones has arrived. For routed messages the neighbour is the gateway. An [Inbox] bounds them
// by itself. Errors: EINVAL if there is no such portal, or limit is not positive; ErrInUse if an inbox is open on the
// portal, or a bound was set before.
func (t *Table) SetShare(index, limit int) error {
	p := t.portal(index)
	if p == nil || limit <= 0 {
		return opError("SetShare", syscall.EINVAL)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.share != nil {
		return opError("SetShare", ErrInUse)
	}
	p.share = &share{portal: p, limit: limit}
	return nil
}

// endShare ends the share of the portal if the inbox in has made it. If in is nil, it ends a share that SetShare has
// made.
func (p *portal) endShare(in *Inbox) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.share != nil && p.share.inbox == in {
		p.share = nil
	}
}

// usedUpBy reports whether the messages of a NID take all of its slots, so that further ones wait. The caller
// holds p.mu.
func (p *portal) usedUpBy(from nid.NID) bool {
	return p.share != nil && p.lazy && p.share.slots[from].taken >= p.share.limit
}

// setApart returns the number of messages that wait for a slot. The caller holds p.mu.
func (p *portal) setApart() int {
	if p.share == nil {
		return 0
	}
	return p.share.apart
}

// enqueue holds a message: in portal.held if the message can have a slot, otherwise apart. The caller holds
// p.mu.
func (p *portal) enqueue(o *operation) {
	from := o.d.From.NID
	switch {
	case p.share == nil || o.waits != nil:
		p.held.push(o)
	case !p.usedUpBy(from):
		o.share = p.occupy(from)
		p.held.push(o)
	default:
		s := p.share.slots[from]
		o.apart = p.share
		s.apart.push(o)
		p.share.slots[from] = s
		p.share.apart++
	}
}

// admit gives a slot to a message that has waited for an MD, and reports whether it has got one or needs none.
// Otherwise it sets the message apart. The caller holds p.mu, and has taken the message from portal.held.
func (p *portal) admit(o *operation) bool {
	if o.event.Kind != EventPut || o.share != nil {
		return true
	}
	if !p.usedUpBy(o.d.From.NID) {
		o.share = p.occupy(o.d.From.NID)
		return true
	}
	o.waits = nil
	p.enqueue(o)
	return false
}

// occupy takes a slot for a message of a NID, and returns the share that it belongs to; nil: the portal has none. The caller
// holds p.mu.
func (p *portal) occupy(from nid.NID) *share {
	h := p.share
	if h == nil {
		return nil
	}
	if h.slots == nil {
		h.slots = make(map[nid.NID]slots)
	}
	s := h.slots[from]
	s.taken++
	h.slots[from] = s
	return h
}

// vacate leaves the slot of a message to the next one of the NID that waits for it, and returns that one; nil: none waits.
// The caller holds the lock of the portal.
func (h *share) vacate(from nid.NID) *operation {
	s := h.slots[from]
	next := s.apart.pop()
	if next != nil {
		next.share, next.apart = h, nil
		h.apart--
	} else {
		s.taken--
	}
	if s.taken > 0 {
		h.slots[from] = s
	} else {
		delete(h.slots, from)
	}
	return next
}

// leave vacates the slot of a message, and lets the next one go on that waited for it. If h is nil, the message has no slot.
func (t *Table) leave(h *share, from nid.NID) {
	if h == nil {
		return
	}
	var ready operationList
	h.portal.mu.Lock()
	if next := h.vacate(from); next != nil {
		if t.rematch(h.portal, next) {
			ready.push(next)
		} else {
			h.portal.held.push(next)
		}
	}
	h.portal.mu.Unlock()
	t.release(ready)
}

// remove takes a message off those that wait for a slot. The caller holds the lock of the portal.
func (h *share) remove(o *operation) {
	from := o.d.From.NID
	s := h.slots[from]
	s.apart.remove(o)
	h.slots[from] = s
	h.apart--
	o.apart = nil
}

// takeApart takes the messages for which take returns true from those that wait for a slot. The caller holds
// the lock of the portal.
func (h *share) takeApart(take func(*operation) bool, taken *operationList) {
	for _, from := range slices.SortedFunc(maps.Keys(h.slots), nid.NID.Compare) {
		var kept operationList
		s := h.slots[from]
		for o := s.apart.pop(); o != nil; o = s.apart.pop() {
			if take(o) {
				h.portal.letGo(o)
				o.apart = nil
				taken.push(o)
				h.apart--
			} else {
				kept.push(o)
			}
		}
		s.apart = kept
		h.slots[from] = s
	}
}
