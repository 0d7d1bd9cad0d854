package engine

import (
	"fmt"
	"time"

	"ulnet/lnet/nid"
)

// EpochSlack is how far an epoch, or the life of a member, may be above the wall clock
// of the node that hears of it. Both are wall clocks in nanoseconds since 1970, or one
// more than the number before. What is further above is refused: no honest node could
// ever be above it. Clocks that are further apart keep nodes from one group.
const EpochSlack = 24 * time.Hour

// Refusal is why a node takes no notice of a message between members and managers. Its
// sender is told.
type Refusal uint32

// The reasons.
const (
	RefusedAhead    Refusal = 1 + iota // the epoch or life is more than EpochSlack above the clock
	RefusedStranger                    // the sender is on no list of those that may be members
	RefusedQuorum                      // the manager hears too few members
	RefusedLimits                      // the sender has less multicast than the group asks for
)

// What the reasons mean to the node whose messages are refused.
var (
	ErrAhead    = wrong("an epoch or life is more than a day above the wall clock: set the clocks right, and restart lnetd where they were wrong")
	ErrQuorum   = wrong("the group has no manager that hears most members of its latest list: reconnect them, or have those that are gone for good expelled (Agent.Expel, 'scollctl mcast expel')")
	ErrLimits   = wrong("the datagrams of this node are shorter than LeastFragment (least_fragment) of the group: use a network with a larger MTU, or lower it on the managers")
	ErrStranger = wrong("the node is not on the list of those that may be members: add it to Admit of Manage and Join (members of the group)")
)

// Err is the error that a reason stands for.
func (r Refusal) Err() error {
	switch r {
	case RefusedAhead:
		return ErrAhead
	case RefusedStranger:
		return ErrStranger
	case RefusedQuorum:
		return ErrQuorum
	case RefusedLimits:
		return ErrLimits
	}
	return fmt.Errorf("rmcast: refused for reason %d", uint32(r))
}

// wallClock is the wall clock of a node, as its machines know it: the number of the
// node's life, which is a wall clock, and the time since. It starts with their first
// step.
type wallClock struct {
	life    uint64
	began   time.Duration
	started bool
}

func (w *wallClock) start(now time.Duration) {
	if !w.started {
		w.started, w.began = true, now
	}
}

// isAhead reports whether an epoch, or a life, is too far above the clock.
func (w *wallClock) isAhead(epoch uint64, now time.Duration) bool {
	limit := w.life + uint64(now-w.began) + uint64(EpochSlack)
	return limit > w.life && epoch > limit
}

// complaints bounds how often the user is told that messages are refused.
type complaints struct{ next time.Duration }

// complainEvery is the least time between two [Refused] effects.
const complainEvery = 10 * time.Second

// refused appends an effect that says whose messages are refused.
func (c *complaints) refused(now time.Duration, out *Output, from nid.NID, why Refusal) {
	if now < c.next {
		return
	}
	c.next = now + complainEvery
	out.Effects = append(out.Effects, Effect{Kind: Refused, To: from, Why: why.Err()})
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
