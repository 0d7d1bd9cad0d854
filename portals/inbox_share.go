package portals

import (
	"slices"

	"ulnet/lnet/nid"
)

// A peer sends the rest of a message as late as it likes, and may have thousands of connections. So that
// one peer does not take all buffers of an inbox by messages that it does not end, only a quarter of the
// messages that may be arriving at the inbox at once come from one NID. Further messages of that NID are
// held, as on a portal without a buffer, until one of the earlier ones has arrived.

// sharesOfInbox is the number of NIDs that it takes to use up an inbox.
const sharesOfInbox = 4

// share returns how many messages from one NID may be arriving at an inbox at once.
func (c *InboxConfig) share() int {
	return max((c.Buffers+c.uncounted())/sharesOfInbox, 1)
}

// uncounted returns how many of the arriving messages do not count as posted buffers.
func (c *InboxConfig) uncounted() int {
	if c.HandleFirst {
		return 0
	}
	return min(maxArriving, maxArrivingBytes/c.Size)
}

// arrivals has, for each NID from which messages are arriving at an inbox, the number of these messages.
// It is a list because it has few entries, at most one for each such message.
type arrivals []arrivalsFrom

type arrivalsFrom struct {
	from nid.NID
	n    int
}

func (a arrivals) index(from nid.NID) int {
	return slices.IndexFunc(a, func(e arrivalsFrom) bool { return e.from == from })
}

func (a arrivals) count(from nid.NID) int {
	if i := a.index(from); i >= 0 {
		return a[i].n
	}
	return 0
}

func (a *arrivals) begin(from nid.NID) {
	if i := a.index(from); i >= 0 {
		(*a)[i].n++
		return
	}
	*a = append(*a, arrivalsFrom{from, 1})
}

func (a *arrivals) end(from nid.NID) {
	i := a.index(from)
	if (*a)[i].n--; (*a)[i].n == 0 {
		last := len(*a) - 1
		(*a)[i] = (*a)[last]
		*a = (*a)[:last]
	}
}

// usedUpBy reports whether as many messages from a NID are arriving at the inbox as its share allows, so
// that further ones wait. The caller holds p.mu.
func (p *portal) usedUpBy(from nid.NID) bool {
	return p.inbox != nil && p.lazy && p.inbox.froms.count(from) >= p.inbox.cfg.share()
}

// begin counts a message that begins to arrive.
func (in *Inbox) begin(from nid.NID) {
	p := in.table.portal(in.cfg.Portal)
	p.mu.Lock()
	in.froms.begin(from)
	p.mu.Unlock()
}

// end counts a message that has arrived, and lets one go on that waited because of it.
func (in *Inbox) end(from nid.NID) {
	p := in.table.portal(in.cfg.Portal)
	var ready operationList
	p.mu.Lock()
	waited := p.usedUpBy(from)
	in.froms.end(from)
	if waited && p.ignoring != 0 { // the entries of an inbox are alike, so the first one will do
		ready = in.table.tryHeld(p, p.me(p.ignoring))
	}
	p.mu.Unlock()
	in.table.release(ready)
}
