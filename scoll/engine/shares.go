package engine

import (
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll/wire"
)

// A request is charged to the node that sent it, because only the sender is certain: any node
// on the way may have changed the creator and the root that the request names. A node that is
// not listed (Input Listed) is a stranger, and a group with such a member is a stranger's
// group.
//
//	requests with a slot       one node: 3/4 of MaxActive       strangers together: 1/4
//	requests without a slot    one node: 3/4 of what may wait   strangers together: 1/4
//	groups of others           see cache.go                     strangers together: 1/4 of MaxGroups
//	bytes of lists, fetched    one node: 3/4 of maxListSize     strangers together: 1/16
//	bytes of lists, kept       see cache.go                     strangers together: 1/16 of maxListSize
//	tombstones, ghosts         -                                strangers' apart: 1/4 as many
//	answers to requests that
//	the agent has not sent     see refusalBounds of the agent   strangers' apart: as many
//	addresses that a stranger
//	has this node send to      -                                maxDialed
//
// Without a list no node is a stranger.

const (
	strangerBytes = maxListSize / 16
	maxDialed     = 16
	// dialHold is how long an address counts as connected: lnet keeps the connection of an
	// idle peer for this time.
	dialHold = 10 * time.Minute
)

// share counts the resources of this node that another node uses.
type share struct {
	active  int    // number of requests that have an admission slot
	waiting int    // number of requests that have no admission slot yet
	body    uint64 // bytes of the bodies of requests without a slot
	groups  int
	bytes   uint64 // bytes of the member lists of its groups
	fetch   uint64 // bytes of lists that are being fetched from it
}

// shares has the shares of all other nodes.
type shares struct {
	listed    func(nid.NID) bool // reports whether a node is listed; nil: all nodes are
	of        map[nid.NID]share
	strangers share // what all strangers together use
	bytes     uint64
	bodies    uint64
	dialed    []dialed
}

type dialed struct {
	to    nid.NID
	until time.Duration
}

func (s *shares) init() { s.of = make(map[nid.NID]share) }

// isStranger reports whether a node is not listed.
func (m *Machine) isStranger(id nid.NID) bool {
	return m.shares.listed != nil && id != m.cfg.Self && !m.shares.listed(id)
}

// hasStranger reports whether a stranger is among the members of a group.
func (m *Machine) hasStranger(list *wire.Membership) bool {
	if m.shares.listed == nil {
		return false
	}
	for rank := range list.Len() {
		if m.isStranger(list.NID(rank)) {
			return true
		}
	}
	return false
}

// charge adds to the share of a node (sign 1), or subtracts from it (sign -1).
func (s *shares) charge(id nid.NID, stranger bool, by share, sign int) {
	add := func(to share) share {
		to.active += sign * by.active
		to.waiting += sign * by.waiting
		to.body += uint64(sign) * by.body
		to.groups += sign * by.groups
		to.bytes += uint64(sign) * by.bytes // with sign -1 this subtracts modulo 2^64
		to.fetch += uint64(sign) * by.fetch
		return to
	}
	now := add(s.of[id])
	if s.of[id] = now; now == (share{}) {
		delete(s.of, id)
	}
	if stranger {
		s.strangers = add(s.strangers)
	}
	s.bytes += uint64(sign) * by.bytes
	s.bodies += uint64(sign) * by.body
}

// mayFetch reports whether the machine may fetch a list of the given size from a node.
func (m *Machine) mayFetch(from nid.NID, bytes uint64) bool {
	if m.isStranger(from) && bytes > strangerBytes-m.shares.strangers.fetch {
		return false
	}
	return bytes <= maxListSize-m.lists && bytes <= maxListSize*3/4-m.shares.of[from].fetch
}

// mayDial reports whether this node may send to a node that another one has named. Addresses
// of strangers are limited to maxDialed at a time.
func (m *Machine) mayDial(id nid.NID) bool {
	if !m.isStranger(id) {
		return true
	}
	free := -1
	for i := range m.shares.dialed {
		d := &m.shares.dialed[i]
		if d.to == id {
			d.until = m.now + dialHold
			return true
		}
		if d.until <= m.now {
			free = i
		}
	}
	switch {
	case free >= 0:
	case len(m.shares.dialed) < maxDialed:
		free = len(m.shares.dialed)
		m.shares.dialed = append(m.shares.dialed, dialed{})
	default:
		return false
	}
	m.shares.dialed[free] = dialed{id, m.now + dialHold}
	return true
}
