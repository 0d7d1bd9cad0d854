package engine

import (
	"slices"
	"time"

	"ulnet/lnet/machine"
	"ulnet/scoll/wire"
)

// Holding: a member has MaxActive admission slots for requests of other nodes. The machine
// calls the service for a request with a slot, and forwards it. Further requests are held: the
// machine checks their sender and their group, drops duplicates, and lets the rest wait for a
// slot. Until a held request has a slot, no member of the subtree runs it.
//
//   - A line has the held requests of one peer with the same number of levels below, so that
//     the requests of one root over one group keep their order. Lines get slots in turn.
//   - A request with fewer levels below than all requests with slots gets a slot beyond
//     MaxActive. Without this rule two members that are each other's child, in the trees of
//     two roots, could deadlock, each waiting for the other with all its slots. With the rule,
//     requests wait only for requests with fewer levels, and a leaf waits for none.
//   - The member tells its parent, which tells its own, up to the root (see wire.Hold), and
//     their timeouts restart when there is a slot. The header bounds how long a member may
//     hold a request; then it refuses the request with EMAXACTIVE. So a node gives up a child
//     of d levels after T(d) plus d times that bound at the latest, whatever children say.
//   - A parent of an earlier version does not understand Hold, and forwards 0 as the bound.
//     Then a member holds a request at most until the parent's timeout T, and its service has the
//     rest of that time.

// How long a member may hold a request. The bound is a multiple of the timeout of one level, because each
// request that gets a slot before the held one may take as long as that timeout.
const (
	holdFactor = 4
	leastHold  = 5 * time.Second
)

// holding is the latest Hold that this node has sent to the parent of a request.
type holding struct {
	number uint64
	held   bool
	tries  uint8
	at     time.Duration // when the machine tries to send the Hold next
}

// tellHolding tells the parent that a request is held, or not any more.
func (m *Machine) tellHolding(r *request, is bool) {
	if r.header.Hold == 0 {
		return
	}
	r.told = holding{number: r.told.number + 1, held: is, at: machine.Never}
	m.sayHolding(r)
}

func (m *Machine) sayHolding(r *request) {
	r.told.at = machine.Never
	w := wire.Hold{ReplyBits: r.parentBits, Number: r.told.number, Held: r.told.held, Signed: m.cfg.Signed}
	begin := len(m.out.Buf)
	m.out.Buf = w.AppendTo(m.out.Buf)
	m.emit(Effect{Kind: DoTell, ID: r.id, Child: Upward, To: r.parent, Data: Range{begin, len(m.out.Buf)}})
}

// untoldUp handles a Hold that could not be sent. After maxTries the machine gives the Hold up,
// and the parent runs into its timeout.
func (m *Machine) untoldUp(r *request) {
	if r.answered || r.told.at != machine.Never {
		return
	}
	if r.told.tries++; r.told.tries >= maxTries {
		m.stats.Unsent++
		return
	}
	r.told.at = m.now + r.backOff(r.told.tries)
	m.schedule(r)
}

// sayAgain tries again to send a Hold.
func (m *Machine) sayAgain(r *request) {
	if r.told.at <= m.now && !r.answered {
		m.stats.Retries++
		m.sayHolding(r)
	}
}

// heardOfHolding handles a Hold of a child.
func (m *Machine) heardOfHolding(in *Input) {
	w, err := wire.ParseHold(in.Data)
	if !m.mayHear(in, err, w.Signed) {
		return
	}
	r := m.requests.byBits[w.ReplyBits]
	if r == nil || r.phase != running {
		m.stats.Late++
		return
	}
	i := r.childOf(r.roster.Rank(in.From))
	if i < 0 {
		m.stats.Stray++
		return
	}
	c := &r.children[i]
	if !r.follows(c, &w) {
		m.stats.Late++
		return
	}
	if c.state == retrying {
		m.arrived(r, c)
	}
	if !w.Held && !c.held { // the end of holding has overtaken the message that the child holds the request: take both as having come now, so that this node and its parent begin their timeouts anew
		m.holds(r, c, true)
	}
	c.word = w.Number
	m.holds(r, c, w.Held)
}

// arrived handles a sign that a child has the request although sending it has failed. The child would
// drop another copy.
func (m *Machine) arrived(r *request, c *child) {
	c.state = waiting
	if m.await(r, c, m.now+max(childTimeout(&r.header, c.Depth, r.processing), 1)); r.pipe.loading {
		c.at = machine.Never // see loaded
	}
}

// follows reports whether a Hold of a child is believed: it must be later than all that arrived before, and its number
// must be possible. For each node of its subtree a child sends at most one Hold and one release, numbered from 1 on,
// and the first is no release. The result is false also while the list of members is to be sent to the child again:
// the Hold may be from before the child said that it does not know the group, and does not show that the list has
// arrived.
func (r *request) follows(c *child, w *wire.Hold) bool {
	switch {
	case c.state != waiting && (c.state != retrying || c.listed):
		return false
	case r.header.Hold == 0, w.Number <= c.word, w.Number > uint64(2*c.Size):
		return false
	}
	return w.Held || c.held || w.Number > c.word+1
}

// holds records whether a child holds the request, and tells the parent of a change.
func (m *Machine) holds(r *request, c *child, is bool) {
	if c.held = is; c.at != machine.Never { // if c.at is Never, the method loaded sets it later
		c.at = c.until
		if !is {
			c.at = min(m.now+max(childTimeout(&r.header, c.Depth, r.processing), 1), c.until)
		}
	}
	m.relay(r)
	m.schedule(r)
}

// await sets the timeout of a child that does not hold the request, and the deadline, which
// also includes the time for which the child's subtree may hold the request.
func (m *Machine) await(r *request, c *child, at time.Duration) {
	c.at, c.until = at, at+m.holdTime(&r.header, c.Depth)
	if c.held {
		c.at = c.until
	}
}

// patience returns how long a member may hold a request: the root puts this time into the
// header.
func patience(h *wire.RequestHeader) time.Duration {
	return min(max(holdFactor*childTimeout(h, 1, h.Processing), leastHold), wire.MaxHold)
}

// holdTime returns how long the members of a subtree with the given number of levels may hold a
// request in total.
func (m *Machine) holdTime(h *wire.RequestHeader, levels int) time.Duration {
	if h.Hold == 0 {
		return 0
	}
	return min(time.Duration(levels)*(h.Hold+h.RTT), m.cfg.MaxTimeout)
}

// relay tells the parent whether a child holds the request, if that has changed. At the root, which has no
// parent, relay shrinks the congestion window instead.
func (m *Machine) relay(r *request) {
	below := slices.ContainsFunc(r.children, func(c child) bool { return c.state == waiting && c.held })
	if below == r.heldBelow {
		return
	}
	r.heldBelow = below
	switch {
	case r.root && below:
		m.slower(r)
	case r.root, r.answered:
	default:
		last := r.came + answerTimeout(&r.header, r.depth) + m.holdTime(&r.header, r.depth)
		if r.limit = last; !below {
			r.limit = max(min(m.limitFromNow(r), last), m.now+1)
			for i := range r.children {
				m.hurry(r, &r.children[i])
			}
		}
		m.schedule(r)
		m.tellHolding(r, below)
	}
}

// limitFromNow returns when the module answers in place of the service, if the service's
// time begins now.
func (m *Machine) limitFromNow(r *request) time.Duration {
	h, levels := &r.header, r.depth
	if root := int(h.Root); r.isPipelined() && r.pipe.known < h.Bulk.Length {
		levels = r.shape().Depth(root)
	}
	from := m.now
	if h.Hold == 0 && r.waited {
		from = r.came // a parent that does not know Hold counts its timeout from when it sent the request
	}
	return max(from+answerTimeout(h, levels), m.now+1)
}
