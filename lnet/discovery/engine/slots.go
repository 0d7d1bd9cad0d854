package engine

import (
	"time"

	"ulnet/lnet"
)

// class says which of the MaxInFlight slots the exchange of a peer may take. A node that does not answer keeps its slot
// for 3 s, and longer if too many others have stepped aside, or until the timeout if it is a gateway that is checked. So each
// class leaves slots to those before it.
type class uint8

const (
	checked  class = iota // the check of a gateway: any slot
	awaited               // a message or a call waits for the discovery: all slots but a sixteenth
	known                 // a peer that was discovered before gets a push: three quarters of the slots
	repeated              // the push to a peer that was discovered before is sent again: a quarter of the slots
	stranger              // a peer that has made itself known by a push: a quarter of the slots
	aside                 // an exchange of another class than checked that stepAside has moved here: no slot of MaxInFlight
	numClasses
)

// classOf returns the class of the next exchange with p.
func (m *Machine) classOf(p *peer) class {
	switch {
	case p.askAt.IsValid() && m.isGateway(p):
		return checked
	case len(p.waiting) > 0:
		return awaited
	case p.flags&(lnet.PeerDiscovered|lnet.PeerConfigured) == 0:
		return stranger
	case p.repeats > 0:
		return repeated
	}
	return known
}

// hasSlot reports whether an exchange of a class may begin.
func (m *Machine) hasSlot(c class) bool {
	all := m.limits.MaxInFlight
	// The number of exchanges that no message or call waits for.
	others := m.inFlight[known] + m.inFlight[repeated] + m.inFlight[stranger]
	switch {
	case m.inFlight[checked]+m.inFlight[awaited]+others >= all:
		return false
	case c == checked:
		return true
	case m.inFlight[awaited]+others >= all-all/16:
		return false
	case c == awaited:
		return true
	case others >= max(1, all*3/4):
		return false
	}
	return c == known || m.inFlight[c] < max(1, all/4)
}

// begin gives a peer an exchange in one of MaxInFlight slots, or queues the peer for one.
func (m *Machine) begin(now time.Duration, p *peer) bool {
	c := m.classOf(p)
	if !m.hasSlot(c) {
		if !p.queued || c < p.queue {
			p.queued, p.queue = true, c
			m.ready[c] = append(m.ready[c], p)
		}
		return false
	}
	p.exchange = &exchange{peer: p, class: c, began: now, deadline: m.deadline(now)}
	p.exchange.due.Of = p.exchange
	m.inFlight[c]++
	return true
}

// asideFactor is the number of exchanges that may step aside, in multiples of MaxInFlight.
const asideFactor = 4

// stepAside frees the slot of an exchange that something waits for and whose first message got no answer. Otherwise
// messages to some hundred dead nodes would hold up the first messages to all other nodes until the timeout. A
// gateway's check keeps its slot.
func (m *Machine) stepAside(x *exchange) {
	if x.class == checked || x.class == aside || m.inFlight[aside] >= asideFactor*m.limits.MaxInFlight {
		return
	}
	m.inFlight[x.class]--
	x.class = aside
	m.inFlight[aside]++
}

// next takes the next peer that waits for a slot and may have one. A peer may be in several queues, or
// still in one when it does not wait any more.
func (m *Machine) next() *peer {
	for c := range numClasses {
		for list := &m.ready[c]; len(*list) > 0 && m.hasSlot(c); {
			p := (*list)[0]
			(*list)[0] = nil
			if *list = (*list)[1:]; p.queued {
				p.queued = false
				return p
			}
		}
	}
	return nil
}

// shown returns the flags of p that lnet is told. LNet holds messages during every discovery; here a peer whose
// NIDs are known, and that only lacks a push of this node, is not shown as DISCOVERING: nothing about
// the way to it will change, and a peer that is dead on one rail may leave the push without an answer for long.
func (m *Machine) shown(p *peer) lnet.PeerFlags {
	const settled = lnet.PeerDiscovered | lnet.PeerNIDsUpToDate | lnet.PeerMultiRail
	const asks = lnet.PeerPingSent | lnet.PeerForcePing | lnet.PeerDataPresent
	pushes := p.flags.Has(lnet.PeerPushSent) || p.queued && m.needsPush(p)
	if pushes && p.flags.Has(settled) && p.flags&asks == 0 && !m.awaitsProbes(p) {
		return p.flags &^ lnet.PeerDiscovering
	}
	if m.untold(p) {
		return p.flags | lnet.PeerForcePush
	}
	return p.flags
}
