package lnet

import (
	"sync"
	"sync/atomic"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/nid"
)

// maxContacts bounds how many processes with one NID a node keeps apart; local policy.
const maxContacts = 64

// LastHeard returns the time, on the node's clock, at which the driver had read the latest message
// from a process; ok is false if there was none.
//
// Any NID of a node stands for the node, and PID 0 or PIDAny for LustrePID, as in Send.
// Processes that share a NID are distinguished by the PID under which they are connected. A
// process behind a gateway is identified by the PID in its header, and its incarnation is
// unknown. Every message to this node counts, whether a match entry takes it or not, except
// those that FailNID drops. The time is lost when the peer is removed from the table of peers,
// as idle peers without a connection and a watch are (Config.PeerIdle). Of one NID only the
// latest 64 processes are kept.
func (n *Node) LastHeard(id nid.ProcessID) (at time.Duration, ok bool) {
	return n.latest(id, func(k *contact) *instant { return &k.heard })
}

// LastHeardFrom is LastHeard for messages of one incarnation of the process's NI ([lnd.Delivery]
// Incarnation): a path, from an NI of this node to a NID of the process's node, counts only if the
// latest message on it came from this incarnation. A restarted node has another incarnation.
func (n *Node) LastHeardFrom(id nid.ProcessID, incarnation uint64) (at time.Duration, ok bool) {
	return n.latest(id, func(k *contact) *instant {
		if k.incarnation.Load() != incarnation {
			return &never
		}
		return &k.heard
	})
}

// never is the zero instant: no time was recorded.
var never instant

// LastSent returns the time at which the latest message to a process left, with the same rules
// as LastHeard. The message may have been lost after that, as with a SEND event.
func (n *Node) LastSent(id nid.ProcessID) (at time.Duration, ok bool) {
	return n.latest(id, func(k *contact) *instant { return &k.sent })
}

func (n *Node) latest(id nid.ProcessID, which func(*contact) *instant) (at time.Duration, ok bool) {
	id.PID = process(id.PID)
	see := func(c *contacts) {
		if k := c.find(id.PID); k != nil {
			if seen, any := which(k).load(); any {
				at, ok = max(at, seen), true
			}
		}
	}
	if lo := n.own(id.NID); lo != nil {
		see(&lo.contacts)
		return at, ok
	}
	n.eachPath(id.NID, func(p *peerNI) { see(&p.contacts) })
	return at, ok
}

// process returns pid, but LustrePID for 0 and for PIDAny, as LNetPut does.
func process(pid nid.PID) nid.PID {
	if pid == 0 || pid == nid.PIDAny {
		return nid.LustrePID
	}
	return pid
}

// own returns the NI lo if a NID is the node's own, else nil.
func (n *Node) own(id nid.NID) *NI {
	if id.IsLo() || n.niByNID(id) != nil {
		return n.niByNID(nid.Lo0())
	}
	return nil
}

// eachPath calls f for every peer NI of the node to which the NID id belongs: for each NID that is known of that node,
// there may be one at each NI of this node. f must not block.
func (n *Node) eachPath(id nid.NID, f func(*peerNI)) {
	nis := *n.nis.Load()
	n.peers.mu.RLock()
	defer n.peers.mu.RUnlock()
	visit := func(id nid.NID) {
		for _, ni := range nis {
			if p := n.peers.peers[peerKey{id, ni}]; p != nil {
				f(p)
			}
		}
	}
	visit(id)
	if known := n.peers.known[id]; known != nil {
		for i := range known.NIs {
			if other := known.NIs[i].NID; other != id {
				visit(other)
			}
		}
	}
}

// noteHeard records the sender of a message and its time.
func (ni *NI) noteHeard(d *lnd.Delivery) {
	if ni.node.forward.on.Load() && d.From.NID != ni.nid {
		ni.heardOn(d.ReceivedAt)
	}
	p, ok := d.Cache.(*peerNI)
	if ok {
		ni.noteIncarnation(p, d)
	}
	if ni.routed(d) {
		ni.noteRouted(d)
		return
	}
	c := &ni.contacts
	if ok {
		c = &p.contacts
		if p.remote.Down() {
			p.remote.heard(d.ReceivedAt)
		}
	}
	k := c.of(d.From.PID)
	if k.incarnation.Load() != d.Incarnation {
		// Stored before the time, so that a reader that sees the new time sees the new incarnation too.
		k.incarnation.Store(d.Incarnation)
	}
	k.heard.advance(d.ReceivedAt)
}

// noteSent records the target of a message that has left, and when. If the driver has not
// reported the time, noteSent reads the clock: such a driver does not send many messages at
// once.
func (n *Node) noteSent(m *Message) {
	at := m.SentAt
	if at == 0 {
		at = n.cfg.Clock.Now()
	}
	c := &m.ni.contacts
	if m.peer != nil {
		c = &m.peer.contacts
	}
	c.of(m.Target.PID).sent.advance(at)
	if m.peer != nil && m.Header.DestNID != m.peer.nid && !m.Routed {
		// The message has left for a gateway, so note the time for the process behind the gateway as
		// well.
		if p := n.peers.lookUp(m.Header.DestNID, m.ni); p != nil {
			p.contacts.of(m.Header.DestPID).sent.advance(at)
		}
	}
}

// contacts are the processes at one NID with the times of their latest messages. The
// zero value is empty. They are a linked list. Each message looks up one process; a NID mostly has only
// one, which is then the first element.
type contacts struct {
	first atomic.Pointer[contact]

	mu sync.Mutex // held while the list is changed
}

type contact struct {
	next        atomic.Pointer[contact]
	pid         nid.PID
	incarnation atomic.Uint64 // incarnation of the NI, from the process's latest message
	heard, sent instant
}

// find returns the contact of a process, or nil.
func (c *contacts) find(pid nid.PID) *contact {
	k := c.first.Load()
	for k != nil && k.pid != pid {
		k = k.next.Load()
	}
	return k
}

// of returns the contact of a process and makes it if need be.
func (c *contacts) of(pid nid.PID) *contact {
	if k := c.find(pid); k != nil {
		return k
	}
	return c.add(pid)
}

// add makes a contact. If there are too many, it removes the contact that was quiet longest. A removed
// contact keeps its link to the next one, so a goroutine that is reading the list can go on from it.
func (c *contacts) add(pid nid.PID) *contact {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.find(pid); k != nil {
		return k
	}
	count, quietest := 0, &c.first // quietest points at the pointer to the contact whose latest message is oldest
	for at := &c.first; at.Load() != nil; at = &at.Load().next {
		if count++; at.Load().latest() < quietest.Load().latest() {
			quietest = at
		}
	}
	if count >= maxContacts {
		quietest.Store(quietest.Load().next.Load())
	}
	k := &contact{pid: pid}
	k.next.Store(c.first.Load())
	c.first.Store(k)
	return k
}

func (k *contact) latest() int64 { return max(k.heard.v.Load(), k.sent.v.Load()) }

// instant is the latest of the times that advance was given. The zero value has no time.
type instant struct{ v atomic.Int64 } // one more than the time in nanoseconds; 0: never

func (i *instant) load() (at time.Duration, ok bool) {
	v := i.v.Load()
	return time.Duration(v - 1), v > 0
}

// advance records a time, unless a later one is recorded already: a read loop that had to
// wait for a handler may come with an earlier time.
func (i *instant) advance(at time.Duration) {
	for next := int64(at) + 1; ; {
		v := i.v.Load()
		if next <= v || i.v.CompareAndSwap(v, next) {
			return
		}
	}
}
