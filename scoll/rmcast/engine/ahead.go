package engine

import (
	"cmp"
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// EpochSlack is how far an epoch, or the incarnation of a member, may be above the wall clock
// of the node that hears of it. Both are wall-clock times in nanoseconds since 1970, or the
// previous number plus one. Larger numbers are refused, because once accepted they would be
// above all numbers of honest nodes. Nodes whose clocks differ by more cannot be in one group.
const EpochSlack = 24 * time.Hour

// The reasons for which an order is refused, as errors of the node that sent it.
var (
	ErrAhead    = wrong(wire.RefusedAhead.String())
	ErrQuorum   = wrong(wire.RefusedQuorum.String())
	ErrLimits   = wrong(wire.RefusedLimits.String())
	ErrStranger = wrong(wire.RefusedStranger.String())
	ErrVersion  = wrong(wire.RefusedVersion.String())
	ErrNoRoom   = wrong(wire.RefusedFull.String())
)

// refusal returns the error for a reason.
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
	case wire.RefusedVersion:
		return ErrVersion
	case wire.RefusedFull:
		return ErrNoRoom
	}
	return wrong(r.String())
}

// wallClock estimates the wall clock: it was wall at the instant at, and has gone on since.
type wallClock struct {
	wall    uint64
	at      time.Duration
	started bool
}

// newWallClock returns the clock of a machine whose configuration has these values. It begins with the
// machine's first step.
func newWallClock(wall, incarnation uint64) wallClock {
	return wallClock{wall: cmp.Or(wall, incarnation)}
}

func (w *wallClock) start(now time.Duration) {
	if !w.started {
		w.started, w.at = true, now
	}
}

// set takes over the wall clock of an input, unless the estimate is later already. The estimate is behind
// if the clock was set forward, or if the system was suspended and the machine's clock stood still.
func (w *wallClock) set(wall uint64, now time.Duration) {
	if wall > w.wall+uint64(now-w.at) {
		w.wall, w.at = wall, now
	}
}

// isAhead reports whether an epoch or incarnation is too far above the wall clock.
func (w *wallClock) isAhead(epoch uint64, now time.Duration) bool {
	limit := w.wall + uint64(now-w.at) + uint64(EpochSlack)
	return limit > w.wall && epoch > limit
}

// complaints limits the rate at which the user is told of refused messages.
type complaints struct{ next time.Duration }

// complainEvery is the minimum time between two [Refused] effects.
const complainEvery = 10 * time.Second

// refused appends an effect that names the node whose message is refused, unless there was one
// within complainEvery.
func (c *complaints) refused(now time.Duration, out *Output, from nid.NID, why wire.Refusal) {
	if now < c.next {
		return
	}
	c.next = now + complainEvery
	out.emit(Effect{Kind: Refused, To: from, Why: refusal(why)})
}

// admitted is the set of nodes that may be members; nil admits all nodes.
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
