package scoll

import (
	"math"
	"time"

	"ulnet/lnet/nid"
)

// Shares. A request is charged to the node that sent it, since nothing else in it is
// certain: the creator and the root that it names are hearsay. A node that is on no
// list (Input Listed) is a stranger, and so is every group with such a member.
//
//	requests with a place      one node: 3/4 of MaxActive       strangers together: 1/4
//	requests that wait for one one node: 3/4 of what may wait   strangers together: 1/4
//	groups of others           see roomForGroup                 strangers together: 1/4 of MaxGroups
//	bytes of lists, fetched    one node: 3/4 of maxListSize     strangers together: 1/16
//	bytes of lists, kept       see roomForGroup                 strangers together: 1/16 of maxListSize
//	tombstones                 -                                strangers together: 1/4
//	addresses that a stranger
//	has this node send to      -                                maxDialed
//
// Without a list no node is a stranger.

const (
	strangerBytes = maxListSize / 16
	maxDialed     = 16
	// dialHold is how long the address of a stranger's list counts as connected:
	// lnet keeps the connection of an idle peer for so long.
	dialHold = 10 * time.Minute
)

// share is what one node holds here.
type share struct {
	active  int    // requests that have a place
	waiting int    // that have none yet
	body    uint64 // bytes of the latter
	groups  int
	bytes   uint64 // of the lists of these
	fetch   uint64 // of lists that are being fetched from it
}

// shares is what all nodes hold.
type shares struct {
	listed    func(nid.NID) bool // nil: all are
	of        map[nid.NID]share
	strangers share // what they hold together
	bytes     uint64
	bodies    uint64
	dialed    []dialed
}

type dialed struct {
	to    nid.NID
	until time.Duration
}

func (s *shares) init() { s.of = make(map[nid.NID]share) }

// isStranger reports whether a node is on no list.
func (m *Machine) isStranger(id nid.NID) bool {
	return m.shares.listed != nil && id != m.cfg.Self && !m.shares.listed(id)
}

// hasStranger reports whether a list has a stranger.
func (m *Machine) hasStranger(list *Membership) bool {
	if m.shares.listed == nil {
		return false
	}
	for i := range list.targets {
		if m.isStranger(list.targets[i].NID) {
			return true
		}
	}
	return false
}

// charge adds to what a node holds, or takes from it.
func (s *shares) charge(id nid.NID, stranger bool, by share, sign int) {
	add := func(to share) share {
		to.active += sign * by.active
		to.waiting += sign * by.waiting
		to.body += uint64(sign) * by.body
		to.groups += sign * by.groups
		to.bytes += uint64(sign) * by.bytes // subtracts modulo 2^64
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

// mayFetch reports whether a list of so many bytes may be fetched from a node.
func (m *Machine) mayFetch(from nid.NID, bytes uint64) bool {
	if m.isStranger(from) && bytes > strangerBytes-m.shares.strangers.fetch {
		return false
	}
	return bytes <= maxListSize-m.lists && bytes <= maxListSize*3/4-m.shares.of[from].fetch
}

// mayHold reports whether so many more bytes of lists may be kept.
func (m *Machine) mayHold(stranger bool, bytes uint64) bool {
	if stranger && bytes > strangerBytes-m.shares.strangers.bytes {
		return false
	}
	return bytes <= maxListSize-m.shares.bytes
}

// mayDial reports whether this node may send to a node that another one has named: to
// strangers' addresses only if there are few.
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

// roomForGroup reports whether one more group of others may be kept, and makes room:
//
//   - a stranger's group goes for one without strangers
//   - a group of the node that holds the most goes for one of a node that holds fewer:
//     a node that floods this one displaces its own groups
//   - a group goes that was not used for so long that nothing of its broadcasts can be
//     on its way
//
// Each time it is the one of these that was not used for longest, and none with
// requests under way. If it is used again its root is told ENOGROUP and sends the list
// again.
func (m *Machine) roomForGroup(g *group) bool {
	size := g.size()
	if size > maxListSize || g.stranger && size > strangerBytes {
		return false
	}
	for {
		most := m.cfg.MaxGroups
		tooMany := m.table.others >= most || g.stranger && m.shares.strangers.groups >= max(most/4, 1)
		if !tooMany && m.mayHold(g.stranger, size) {
			return true
		}
		victim := m.victim(g, tooMany)
		if victim == nil {
			return false
		}
		m.stats.Displaced++
		m.table.remove(victim)
	}
}

// victim returns the group that goes for another one, or nil.
func (m *Machine) victim(g *group, tooMany bool) *group {
	mine := m.shares.of[g.parent]
	hog, hogs := m.hog(g.stranger, tooMany)
	own := weight(share{groups: mine.groups + 1, bytes: mine.bytes + g.size()}, tooMany)
	candidate := func(o *group) bool {
		switch idle := m.now-o.used >= 2*m.cfg.MaxTimeout; {
		case !o.isDisplaceable() || o.inFlight > 0, g.stranger && !o.stranger:
			return false
		case idle, o.stranger && !g.stranger:
			return true
		default:
			return o.parent == hog && hogs > own
		}
	}
	var oldest *group
	for _, o := range m.table.list {
		if candidate(o) && (oldest == nil || o.used < oldest.used) {
			oldest = o
		}
	}
	return oldest
}

// hog returns the node that holds the most groups, or bytes; with stranger, among the
// strangers.
func (m *Machine) hog(stranger, tooMany bool) (id nid.NID, most uint64) {
	for _, o := range m.table.list {
		if !o.isDisplaceable() || stranger && !o.stranger {
			continue
		}
		w := weight(m.shares.of[o.parent], tooMany)
		if w > most || w == most && o.parent.Compare(id) < 0 {
			id, most = o.parent, w
		}
	}
	return id, most
}

// size is how many bytes of lists a group counts for. The list of an out-of-band group
// is its service's.
func (g *group) size() uint64 {
	if !g.key.id.Creator.IsValid() {
		return 0
	}
	return uint64(g.members.Size())
}

// isDisplaceable reports whether a group may go for another one: those of this node
// and of its services stay.
func (g *group) isDisplaceable() bool { return !g.creator && g.key.id.Creator.IsValid() }

func weight(s share, tooMany bool) uint64 {
	if tooMany {
		return uint64(min(s.groups, math.MaxInt32))
	}
	return s.bytes
}
