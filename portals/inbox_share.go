package portals

import (
	"maps"
	"slices"

	"ulnet/lnet/nid"
)

// A peer sends the rest of a message as late as it likes, and may have thousands of connections. One peer
// must not take all buffers of an inbox by messages that it does not end. Therefore each NID has a share: a
// quarter of the messages that may be arriving at the inbox at once. A message takes a slot of the share when
// it is matched, or when it is held because there is no buffer. When all slots are taken, further messages of
// that NID are held apart. Nothing looks at them until one of the earlier messages has arrived and leaves its
// slot to the next one.

// sharesOfInbox is the number of shares of an inbox. Messages of fewer NIDs than that cannot take all its
// buffers, if it has at least as many buffers as shares.
const sharesOfInbox = 4

// share returns the number of slots of each NID.
func (c *InboxConfig) share() int {
	return max((c.Buffers+c.uncounted())/sharesOfInbox, 1)
}

// uncounted returns the largest number of arriving messages whose buffers do not count as posted.
func (c *InboxConfig) uncounted() int {
	if c.HandleFirst {
		return 0
	}
	return min(maxArriving, maxArrivingBytes/c.Size)
}

// slots are the slots that messages of one NID take.
type slots struct {
	taken int           // number of messages that are arriving, or are in portal.held
	apart operationList // messages that wait for a slot
}

// usedUpBy reports whether the messages of a NID take all slots of its share of the inbox, so that further ones
// wait. The caller holds p.mu.
func (p *portal) usedUpBy(from nid.NID) bool {
	return p.inbox != nil && p.lazy && p.inbox.slots[from].taken >= p.inbox.cfg.share()
}

// setApart returns the number of messages that wait for a slot. The caller holds p.mu.
func (p *portal) setApart() int {
	if p.inbox == nil {
		return 0
	}
	return p.inbox.apart
}

// enqueue holds a message: in portal.held if the message can have a slot, otherwise apart. The caller holds
// p.mu.
func (p *portal) enqueue(o *operation) {
	in, from := p.inbox, o.d.From.NID
	switch {
	case in == nil || o.waits != nil:
		p.held.push(o)
	case !p.usedUpBy(from):
		in.occupy(from)
		o.hasSlot = true
		p.held.push(o)
	default:
		s := in.slots[from]
		s.apart.push(o)
		in.slots[from] = s
		in.apart++
	}
}

// occupy takes a slot for a message. The caller holds the lock of the portal.
func (in *Inbox) occupy(from nid.NID) {
	if in.slots == nil {
		in.slots = make(map[nid.NID]slots)
	}
	s := in.slots[from]
	s.taken++
	in.slots[from] = s
}

// vacate gives the slot of a message to the next message of the same NID that waits for a slot, and reports
// whether there is one. That message is in p.held then. The caller holds p.mu.
func (in *Inbox) vacate(p *portal, from nid.NID) (passed bool) {
	s := in.slots[from]
	if o := s.apart.pop(); o != nil {
		in.apart--
		o.hasSlot = true
		p.held.push(o)
		in.slots[from] = s
		return true
	}
	if s.taken--; s.taken > 0 {
		in.slots[from] = s
	} else {
		delete(in.slots, from)
	}
	return false
}

// begins takes a slot for a message that is matched to the MD, if that is one of an inbox. The caller holds the lock of
// the portal.
func (d *md) begins(from nid.NID) {
	if b, ok := d.userPtr.(*inboxBuffer); ok {
		b.inbox.occupy(from)
	}
}

// end vacates the slot of a message that has arrived, and releases the message that waited for that slot.
func (in *Inbox) end(from nid.NID) {
	p := in.table.portal(in.cfg.Portal)
	var ready operationList
	p.mu.Lock()
	if in.vacate(p, from) && p.ignoring != 0 { // it does not matter which entry of the inbox takes the message: use the first one
		ready = in.table.tryHeld(p, p.me(p.ignoring))
	}
	p.mu.Unlock()
	in.table.release(ready)
}

// dropped vacates the slot of a held message that is not received. The caller holds p.mu.
func (p *portal) dropped(o *operation) {
	if o.hasSlot {
		o.hasSlot = false
		p.inbox.vacate(p, o.d.From.NID)
	}
}

// takeApart takes the messages for which take returns true from those that wait for a slot. The caller holds the lock of the
// portal.
func (in *Inbox) takeApart(take func(*operation) bool, taken *operationList) {
	for _, from := range slices.SortedFunc(maps.Keys(in.slots), nid.NID.Compare) {
		var kept operationList
		s := in.slots[from]
		for o := s.apart.pop(); o != nil; o = s.apart.pop() {
			if take(o) {
				taken.push(o)
				in.apart--
			} else {
				kept.push(o)
			}
		}
		s.apart = kept
		in.slots[from] = s
	}
}
