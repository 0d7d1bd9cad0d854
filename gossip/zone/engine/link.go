package engine

import (
	"slices"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// linkState is the state of a link. Transitions:
//
//	connecting -- accepted, or requested by the peer --> up
//	connecting, up -- failed --> reported, and retrying (a successor) or gone
//	connecting, up -- failed, while this node reports no suspicion (see blind) --> held
//	held -- a message came on it --> up
//	held -- a message came on another link --> probed; silent --> reported
//	retrying -- its deadline has passed --> connecting
type linkState uint8

const (
	connecting linkState = iota
	up
	held     // the link failed, but so did many others: perhaps this node is at fault (MS-A1)
	retrying // the link failed, the peer was reported, and the link is to be tried again
)

var linkStateNames = [...]string{"connecting", "up", "held", "retrying"}

// String returns the name of the state.
func (s linkState) String() string { return name(linkStateNames[:], int(s)) }

// link is a link to a long-term neighbour, or one that is being set up. Both ends send
// heartbeats (MS-A12).
type link struct {
	node   wire.Ref
	state  linkState
	mine   wire.Roles // roles for which this node wants the link
	theirs wire.Roles // roles for which the peer wants the link
	// probing: the peer must answer a heartbeat before due, because the transport lost the
	// connection (MS-A30) or the link was in state held.
	probing bool
	// doubted: the link was in state held once, and does not get into this state again.
	doubted bool
	quiet   bool          // the link failed because the peer was silent, not because a connection broke
	same    bool          // the peer's last heartbeat had the same hash of attributes as this node
	local   bool          // the last attempt failed for a reason of this host
	met     bool          // a message has arrived on the link
	proven  bool          // a message has arrived from a NID of the peer's id, see genuine
	greeted bool          // this incarnation of the peer was sent the whole view
	tries   uint8         // number of attempts to connect since the last message
	hops    uint8         // number of redirections so far
	drawn   uint32        // size of the view when the peer was drawn
	heard   time.Duration // when the last message arrived, or the link got another timeout
	last    time.Duration // when the last message arrived on the link
	due     time.Duration // connecting: the instant when the attempt fails; retrying: the instant when the next attempt begins
	backoff time.Duration // time to the next attempt to connect
	version wire.Version  // newest version of the peer that arrived on the link
	said    wire.Version  // this node's version when it last asked for the link
	replied time.Duration // when this node last answered with its whole view
	repair  agreement     // progress of comparing the views with the peer
	tables  agreement     // progress of comparing the attribute tables with the peer
}

// links are all links of a node: so few that a linear search is fast.
type links struct {
	list []link
	// primaries has the primary NIDs of the peers that have sent from other NIDs of theirs, too.
	primaries map[wire.Ref]nid.NID
}

// get returns the link to a node, or nil. It is valid until a link is added.
func (ls *links) get(p wire.Ref) *link {
	for i := range ls.list {
		if ls.list[i].node == p {
			return &ls.list[i]
		}
	}
	return nil
}

// each calls f for all links in a state. f must not add or delete links.
func (ls *links) each(s linkState, f func(*link)) {
	for i := range ls.list {
		if ls.list[i].state == s {
			f(&ls.list[i])
		}
	}
}

func (ls *links) count(s linkState) (n int) {
	for i := range ls.list {
		if ls.list[i].state == s {
			n++
		}
	}
	return n
}

// next returns the earliest deadline of all links.
func (ls *links) next(m *Machine) time.Duration {
	at := machine.Never
	for i := range ls.list {
		at = min(at, ls.list[i].deadline(m))
	}
	return at
}

// deadline returns the time at which a link counts as failed or, in state retrying, is tried again.
func (l *link) deadline(m *Machine) time.Duration {
	switch {
	case l.state == held && !l.probing:
		return machine.Never
	case l.state == up && !l.probing:
		return l.heard + m.cfg.Timeout
	case l.state == up:
		return min(l.due, l.heard+m.cfg.Timeout)
	}
	return l.due
}

// expireLinks handles the deadlines of links that have passed.
func (m *Machine) expireLinks() {
	for i := 0; i < len(m.links.list); i++ {
		l := &m.links.list[i]
		if m.now < l.deadline(m) {
			continue
		}
		if l.state == retrying {
			m.request(l)
			continue
		}
		l.quiet = true
		m.lost(l)
		i = -1 // from the start, because lost may have changed the list; the lost link itself has a later deadline now
	}
}

// open adds a link and sends the request for it.
func (m *Machine) open(p wire.Ref, role wire.Roles, hops uint8) {
	m.links.list = append(m.links.list, link{
		node: p, mine: role, hops: hops, drawn: uint32(m.view.members), backoff: m.cfg.Heartbeat,
	})
	m.out.Watch = append(m.out.Watch, p)
	m.request(m.links.get(p))
}

// cut ends a link without sending a message.
func (m *Machine) cut(p wire.Ref) {
	i := slices.IndexFunc(m.links.list, func(l link) bool { return l.node == p })
	if i < 0 {
		return
	}
	m.links.list = slices.Delete(m.links.list, i, i+1)
	delete(m.links.primaries, p)
	m.out.Ignore = append(m.out.Ignore, p)
	m.attributes.lost(m, p) // requests to this neighbour go to others (MS-87)
}

// unlink ends the link to a node that was removed from the view. Unless the node said goodbye, unlink
// sends it a message, so that it can refute the removal if it still runs.
func (m *Machine) unlink(p wire.Ref, cause Cause) {
	if l := m.links.get(p); l != nil {
		if cause != Said && l.state == up {
			m.send(p, wire.Message{Kind: wire.LinkRefuse, Reason: wire.Removed, About: p, AboutVersion: m.view.at(p).version()})
		}
		m.cut(p)
		m.topology.soon(m)
	}
}

// retry asks for a link again after a back-off (MS-A2).
func (m *Machine) retry(l *link) {
	l.state, l.probing, l.doubted, l.theirs = retrying, false, false, 0
	l.due = m.now + l.backoff
	l.backoff = min(2*l.backoff, maxBackoff)
}

const maxBackoff = time.Minute
