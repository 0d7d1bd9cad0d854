package engine

import (
	"slices"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnet/machine"
)

// linkState is what a link is. Transitions:
//
//	connecting -- accepted, or requested by the peer --> up
//	connecting, up -- failed --> reported, and retrying (a successor) or gone
//	connecting, up -- failed, while this node is muted --> held
//	held -- a message came on it --> up
//	held -- a message came on another link --> probed; silent --> reported
//	retrying -- in its time --> connecting
type linkState uint8

const (
	connecting linkState = iota
	up
	held     // it failed, but so did many others: perhaps it is this node (MS-A1)
	retrying // it failed and was reported
)

var linkStateNames = [...]string{"connecting", "up", "held", "retrying"}

// String returns the name of the state.
func (s linkState) String() string { return name(linkStateNames[:], int(s)) }

// link is a long-term neighbour, or one to be. Both ends send heartbeats (MS-A12).
type link struct {
	node   wire.Ref
	state  linkState
	mine   wire.Roles // what this node wants of it
	theirs wire.Roles // and the peer
	// probing: the neighbour was asked for an answer, which has to come before due, because
	// the transport lost the connection (MS-A30) or the link was held.
	probing bool
	// doubted: it was held, and is not held again.
	doubted bool
	quiet   bool          // it failed by silence, not because a connection broke
	same    bool          // it said last that it has the same attributes
	local   bool          // the last attempt failed for a reason of this host
	met     bool          // something came from it
	tries   uint8         // since then
	hops    uint8         // redirections so far
	drawn   uint32        // how large the view was when it was drawn
	heard   time.Duration // when anything came from it, or it was excused
	last    time.Duration // when anything came from it
	due     time.Duration // connecting: until then; retrying: then
	backoff time.Duration // of retries
	version wire.Version  // newest heard on it
	said    wire.Version  // this node's when it asked for the link last
	replied time.Duration // when all there is was sent as an answer
	repair  agreement     // on views
	tables  agreement     // on attributes
}

// links are all links of a node, few enough to look through.
type links struct {
	list []link
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

// next returns the first deadline of all links.
func (ls *links) next(m *Machine) time.Duration {
	at := machine.Never
	for i := range ls.list {
		at = min(at, ls.list[i].deadline(m))
	}
	return at
}

// deadline is when a link has failed, or has to be tried again.
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
		i = -1 // the list may be another one; what was lost is not due any more
	}
}

// open begins a link.
func (m *Machine) open(p wire.Ref, role wire.Roles, hops uint8) {
	m.links.list = append(m.links.list, link{
		node: p, mine: role, hops: hops, drawn: uint32(m.view.members), backoff: m.cfg.Heartbeat,
	})
	m.out.Watch = append(m.out.Watch, p)
	m.request(m.links.get(p))
}

// cut ends a link without a message.
func (m *Machine) cut(p wire.Ref) {
	i := slices.IndexFunc(m.links.list, func(l link) bool { return l.node == p })
	if i < 0 {
		return
	}
	m.links.list = slices.Delete(m.links.list, i, i+1)
	m.out.Ignore = append(m.out.Ignore, p)
	m.attributes.lost(m, p) // MS-87
}

// unlink ends the link to a node that was removed from the view, with a message: a node that
// still runs can refute the removal.
func (m *Machine) unlink(p wire.Ref, cause Cause) {
	if l := m.links.get(p); l != nil {
		if cause != Said && l.state == up {
			m.send(p, wire.Message{Kind: wire.LinkRefuse, Reason: wire.Removed, About: p, AboutVersion: m.view.at(p).version()})
		}
		m.cut(p)
		m.topology.soon(m)
	}
}

// retry asks again after a back-off (MS-A2).
func (m *Machine) retry(l *link) {
	l.state, l.probing, l.doubted, l.theirs = retrying, false, false, 0
	l.due = m.now + l.backoff
	l.backoff = min(2*l.backoff, maxBackoff)
}

const maxBackoff = time.Minute
