package healthsim

import (
	"slices"
	"time"

	"ulnet/health/engine"
	"ulnet/health/wire"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
	"ulnet/scoll/tree"
)

// A broadcast goes down a binomial tree of the servers that its root believes to be alive, and
// the merged answers come back up. A node waits for each child, for a time that grows with the
// height of the child's subtree. After that time, all servers of the subtree count as missing.

// level is how long a node waits for each level of the tree below it, for a request down and an
// answer up.
const level = 60 * time.Millisecond

// kept is how long a node remembers a broadcast that is over.
const kept = time.Minute

// relayKey identifies a broadcast.
type relayKey struct {
	root   sim.NodeID
	number uint64
}

// relay is a broadcast at one node.
type relay struct {
	key      relayKey
	parent   sim.NodeID
	id       uint64 // id of the machine's DoBroadcast; only at the root
	began    time.Duration
	members  []sim.NodeID
	children []branch
	waiting  int // number of answers that are still to come, of children and of this node
	reply    []byte
	missing  []sim.NodeID
	over     bool
}

// branch is one child of a node in the tree, with its subtree.
type branch struct {
	child    sim.NodeID
	deadline time.Duration
	below    []sim.NodeID // nodes of the child's subtree, the child included
	done     bool
}

// relays are the broadcasts that a node remembers.
type relays struct {
	list []*relay // oldest first
	late []lateCopy
}

// find returns a broadcast that the node remembers; nil: there is none.
func (l *relays) find(key relayKey) *relay {
	for _, r := range l.list {
		if r.key == key {
			return r
		}
	}
	return nil
}

// lateCopy is a request to evict that is sent a second time, much later.
type lateCopy struct {
	at time.Duration
	to sim.NodeID
	m  *message
}

// broadcast starts a broadcast with this node as the root.
func (s *server) broadcast(id uint64, data []byte) {
	n := s.net
	if n.cfg.unsent > 0 && s.chance(n.cfg.unsent) {
		n.groundTruth.unsent = s.now
		s.input(engine.ServerInput{Kind: engine.BroadcastDone, ID: id, Failed: true})
		return
	}
	n.broadcasts++
	members := []sim.NodeID{s.id}
	for k := range n.ids {
		if other := sim.NodeID(k); other != s.id && s.view.alive[k] {
			members = append(members, other)
		}
	}
	r := &relay{key: relayKey{s.id, n.broadcasts}, parent: s.id, id: id, reply: (&wire.Reply{}).AppendTo(nil)}
	s.forward(r, &message{kind: evictRequest, data: data, key: r.key, members: members})
	s.finished(r)
}

// forward sends a request to this node's children.
func (s *server) forward(r *relay, m *message) {
	r.began, r.members = s.now, m.members
	t := tree.Tree{Topology: tree.KNomial(2), N: len(m.members)}
	rank := slices.Index(m.members, s.id)
	for _, c := range t.AppendChildren(nil, rank) {
		b := branch{child: m.members[c.Rank], deadline: s.now + time.Duration(t.Depth(c.Rank)+1)*level}
		for _, below := range t.AppendSubtree(nil, c.Rank) {
			b.below = append(b.below, m.members[below])
		}
		r.children = append(r.children, b)
		s.send(b.child, m)
		if s.chance(s.net.cfg.late) {
			at := s.now + time.Second + time.Duration(s.pcg.Uint64()%uint64(39*time.Second))
			s.relays.late = append(s.relays.late, lateCopy{at, b.child, m})
		}
	}
	r.waiting += len(r.children)
	s.relays.list = append(s.relays.list, r)
}

// requested handles another server's request to evict clients. The machine also gets late
// copies.
func (s *server) requested(from sim.NodeID, m *message) {
	r := s.relays.find(m.key)
	in := engine.ServerInput{Kind: engine.EvictArrived, Server: simlnd.NID(m.key.root), Data: m.data}
	if r == nil {
		r = &relay{key: m.key, parent: from, waiting: 1, reply: (&wire.Reply{}).AppendTo(nil)}
		s.forward(r, m)
		in.Token = r
	}
	s.input(in)
}

// answered merges an answer, of this node or of a subtree below it, with the earlier ones.
func (s *server) answered(r *relay, data []byte, missing []sim.NodeID) {
	r.reply = wire.MergeReplies(r.reply, data)
	r.missing = append(r.missing, missing...)
	r.waiting--
	s.finished(r)
}

// replied merges the answer of a child.
func (s *server) replied(from sim.NodeID, m *message) {
	r := s.relays.find(m.key)
	if r == nil {
		return
	}
	for i := range r.children {
		if b := &r.children[i]; b.child == from && !b.done {
			b.done = true
			s.answered(r, m.data, m.missing)
		}
	}
}

// finished sends the merged answer to the parent, or to the machine at the root, once it is
// complete.
func (s *server) finished(r *relay) {
	if r.waiting > 0 || r.over {
		return
	}
	r.over = true
	if r.key.root != s.id {
		s.send(r.parent, &message{kind: evictReply, data: r.reply, key: r.key, missing: r.missing})
		return
	}
	var missing []nid.NID
	for k, id := range s.net.ids {
		if node := sim.NodeID(k); node != s.id && (!slices.Contains(r.members, node) || slices.Contains(r.missing, node)) {
			missing = append(missing, id)
		}
	}
	s.input(engine.ServerInput{Kind: engine.BroadcastDone, ID: r.id, Servers: missing, Data: r.reply})
}

// wait gives up children that do not answer, sends late copies that are due, and removes old
// broadcasts. It returns the time of the next such event.
func (s *server) wait(next time.Duration) time.Duration {
	l := &s.relays
	for len(l.list) > 0 && l.list[0].over && l.list[0].began+kept <= s.now {
		l.list = l.list[1:]
	}
	for _, r := range l.list {
		if r.over {
			continue
		}
		for i := range r.children {
			switch b := &r.children[i]; {
			case b.done:
			case b.deadline > s.now:
				next = min(next, b.deadline)
			default:
				b.done = true
				r.missing = append(r.missing, b.below...)
				r.waiting--
				s.finished(r)
			}
		}
	}
	l.late = slices.DeleteFunc(l.late, func(c lateCopy) bool {
		if c.at > s.now {
			next = min(next, c.at)
			return false
		}
		s.send(c.to, c.m)
		return true
	})
	return next
}
