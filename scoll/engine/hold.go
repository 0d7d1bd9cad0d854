package engine

import (
	"slices"
	"time"

	"ulnet/lnet/machine"
	"ulnet/scoll/wire"
)

// Holding. MaxActive requests of others have a place at a member: their service is
// called, and they are forwarded. What comes beyond that is held here: it is looked at
// as far as the module can (its sender, its group, whether it came before) and waits for
// a place. Nothing of it has run until then, here or below.
//
//   - A line is what one peer sent with the same number of levels below: so the requests
//     of one root over one group keep their order. Lines get places in turn.
//   - A request with fewer levels below than all that have a place gets one beyond
//     MaxActive. Otherwise two members that are each other's child, in the trees of two
//     roots, could wait for each other with all their places: requests wait for those
//     with fewer levels only, and a leaf waits for none.
//   - The parent is told, and its parent, up to the root (see Hold): their time-outs count
//     from the instant at which there is a place. A header says how long a member may hold
//     a request; what is held for longer is refused with EMAXACTIVE. So a node gives up a child
//     of d levels after T(d) and d times that at the latest, whatever children say.
//   - A parent of an earlier version does not understand that, and forwards 0 as the time.
//     Then a request is held within T of the parent, and its service has what is left.

// How long a member may hold a request: a multiple of what it takes at one level, as
// those before it take as long.
const (
	holdFactor = 4
	leastHold  = 5 * time.Second
)

// holding is what the parent was told of a request.
type holding struct {
	number uint64
	held   bool
	tries  uint8
	at     time.Duration // of the next try
}

// tellHolding tells the parent that a request is held, or no more.
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

// untoldUp: the parent could not be told. After some tries it runs into its time-out.
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

// sayAgain tells the parent again.
func (m *Machine) sayAgain(r *request) {
	if r.told.at <= m.now && !r.answered {
		m.stats.Retries++
		m.sayHolding(r)
	}
}

// heardOfHolding takes a child's word.
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
	if c.words++; c.state != waiting || w.Number <= c.word || c.words > 2*c.Size || r.header.Hold == 0 {
		m.stats.Late++ // each node below holds the request once at most
		return
	}
	if c.word, c.held = w.Number, w.Held; c.at != machine.Never { // else see loaded
		c.at = c.until
		if !c.held {
			c.at = min(m.now+max(childTimeout(&r.header, c.Depth, r.processing), 1), c.until)
		}
	}
	m.relay(r)
	m.schedule(r)
}

// await says until when a child is waited for that holds nothing, and so how long it may
// hold the request.
func (m *Machine) await(r *request, c *child, at time.Duration) {
	c.at, c.until = at, at+m.holdTime(&r.header, c.Depth)
	if c.held {
		c.at = c.until
	}
}

// patience is how long a member may hold a request: what the root puts into the header.
func patience(h *wire.RequestHeader) time.Duration {
	return min(max(holdFactor*childTimeout(h, 1, h.Processing), leastHold), wire.MaxHold)
}

// holdTime is how long a request may be held in a subtree of so many levels in all.
func (m *Machine) holdTime(h *wire.RequestHeader, levels int) time.Duration {
	if h.Hold == 0 {
		return 0
	}
	return min(time.Duration(levels)*(h.Hold+h.RTT), m.cfg.MaxTimeout)
}

// relay tells the parent whether one of the children holds the request, if that has
// changed; at the root it slows down what follows.
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
		}
		m.schedule(r)
		m.tellHolding(r, below)
	}
}

// limitFromNow is when the module answers for the service, if the time of the service
// begins now.
func (m *Machine) limitFromNow(r *request) time.Duration {
	h, levels := &r.header, r.depth
	if root := int(h.Root); r.isPipelined() && r.pipe.known < h.Bulk.Length {
		levels = r.shape().Depth(root)
	}
	from := m.now
	if h.Hold == 0 && r.waited {
		from = r.came // the parent counts from there
	}
	return max(from+answerTimeout(h, levels), m.now+1)
}
