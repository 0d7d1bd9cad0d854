package engine

import (
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// EpochSlack is how far an epoch, or the incarnation of a member, may be above the wall clock
// of the node that hears of it. Both are wall clocks in nanoseconds since 1970, or one
// more than the number before. What is further above is refused: no honest node could
// ever be above it. Clocks that are further apart keep nodes from one group.
const EpochSlack = 24 * time.Hour

// What the reasons to refuse an order mean to the node that sent it.
var (
	ErrAhead    = wrong(wire.RefusedAhead.String())
	ErrQuorum   = wrong(wire.RefusedQuorum.String())
	ErrLimits   = wrong(wire.RefusedLimits.String())
	ErrStranger = wrong(wire.RefusedStranger.String())
)

// refusal is the error that a reason stands for.
func refusal(r wire.Refusal) error {
	switch r {
	case wire.RefusedAhead:
		return ErrAhead
	case wire.RefusedStranger:
		return ErrStranger
	case wire.RefusedQuorum:
		return ErrQuorum
	case wire.RefusedLimits:
		return ErrLimits
	}
	return wrong(r.String())
}

// wallClock is the wall clock of a node, as its machines know it: the number of the
// node's incarnation, which is a wall clock, and the time since. It starts with their first
// step.
type wallClock struct {
	incarnation uint64
	began       time.Duration
	started     bool
}

func (w *wallClock) start(now time.Duration) {
	if !w.started {
		w.started, w.began = true, now
	}
}

// isAhead reports whether an epoch, or an incarnation, is too far above the clock.
func (w *wallClock) isAhead(epoch uint64, now time.Duration) bool {
	limit := w.incarnation + uint64(now-w.began) + uint64(EpochSlack)
	return limit > w.incarnation && epoch > limit
}

// complaints bounds how often the user is told that messages are refused.
type complaints struct{ next time.Duration }

// complainEvery is the least time between two [Refused] effects.
const complainEvery = 10 * time.Second

// refused appends an effect that says whose messages are refused.
func (c *complaints) refused(now time.Duration, out *Output, from nid.NID, why wire.Refusal) {
	if now < c.next {
		return
	}
	c.next = now + complainEvery
	out.emit(Effect{Kind: Refused, To: from, Why: refusal(why)})
}

// admitted are the nodes that may be members; nil: all nodes.
type admitted map[nid.NID]bool

func admit(list, managers []nid.NID) admitted {
	if list == nil {
		return nil
	}
	a := make(admitted, len(list)+len(managers))
	for _, id := range list {
		a[id] = true
	}
	for _, id := range managers {
		a[id] = true
	}
	return a
}

// has reports whether a node may be a member.
func (a admitted) has(id nid.NID) bool { return a == nil || a[id] }
