package engine

import (
	"math/bits"
	"time"

	"ulnet/portals/keyring"
)

// MinInterval is the shortest interval: below it jitter disturbs the protocol
// (gossip design, Initialization).
const MinInterval = 200 * time.Millisecond

// maxInterval is local policy; a message has room for 49 days.
const maxInterval = time.Hour

// Config configures a [Machine]. The zero value of a field means its default;
// negative numbers mean zero where zero is possible.
type Config struct {
	// Interval between gossip cycles, the same on all participants; at least
	// MinInterval and RTT/2. Required.
	Interval time.Duration
	// RTT is the estimated round trip time of the network.
	RTT time.Duration

	// A participant is dead when it was last heard of more than DeadFactor·⌈log2 N⌉ + DeadSlack
	// + Fudge cycles ago, and more than DeadFloor cycles ago. Defaults 2, 4 and 16.
	DeadFactor, DeadSlack, DeadFloor int
	// Fudge makes replies shorter: a reply includes an age only if it is lower than the age in
	// the peer's ping by at least 2 + Fudge cycles. Default ⌊log2 N / 4⌋, at most ⌊log2 N / 2⌋.
	Fudge int
	// Obsolete is by how much the Lamport clock of a message may be behind this node's before the
	// message is dropped. Default 4·⌈log2 N⌉, at least 40.
	Obsolete int
	// Quorum is a percentage: there is a quorum while more than this percentage of the
	// participants, this node included, is alive. Default 50.
	Quorum int
	// ColdStart makes the node speak at once, for a cluster that starts as a whole.
	// Otherwise it is silent until all others have detected the death of its last
	// incarnation.
	ColdStart bool
	// Strict keeps to the letter of the design: the limits of death and of obsolete messages are
	// ⌈log2 N⌉, a participant with other parameters stops every node that hears it, and a node does
	// not notice its own pauses.
	Strict bool
	// Keys are the keys of the cluster, if it has any. Each message then carries a code that
	// only a node with a key can compute, and messages without such a code are dropped.
	Keys keyring.Keys
	// Seed seeds the random choice of partners and of the phase of the cycles. It is combined with
	// the NID, so nodes with the same seed draw different numbers.
	Seed uint64
	// Columns, if not 0, is how many participants a node tracks: the first ones of the list. Only
	// simulations set it, to the same number on all nodes.
	Columns int
	// Trace remembers which peer last brought news of each participant; about 50
	// bytes each.
	Trace bool
}

// Limits are what follows from a Config and the number of participants, in
// cycles unless noted.
type Limits struct {
	Dead     int // a participant whose age is above this is dead
	Again    int // a participant that is not alive becomes alive at this age or below
	Overdue  int // a partner with a higher age is probably dead, and the node pings a second one in that cycle; 0: never
	Obsolete int // by how much the clock of a message may be behind, in units of the Lamport clock
	Fudge    int // see Config.Fudge
	Stealth  int // cycles in which a node is silent after its start
	VeryOld  int // age of this node in a ping that ends the silence early
	Resync   int // cycles after a pause in which a node reports no change of health
}

// Limits checks the configuration for n participants. The error is an *[Error].
func (c Config) Limits(n int) (Limits, error) {
	switch {
	case c.Interval < MinInterval:
		return Limits{}, invalid("interval %v is below %v", c.Interval, MinInterval)
	case c.Interval < c.RTT/2:
		return Limits{}, invalid("interval %v is below half the round trip time of %v", c.Interval, c.RTT)
	case c.Interval%time.Millisecond != 0:
		return Limits{}, invalid("interval %v is no whole number of milliseconds", c.Interval)
	case c.Interval > maxInterval:
		return Limits{}, invalid("interval %v is above %v", c.Interval, maxInterval)
	case c.Quorum > 99:
		return Limits{}, invalid("a quorum of more than %d %% cannot be", c.Quorum)
	case max(c.DeadFactor, c.DeadSlack, c.DeadFloor) > oldest:
		return Limits{}, invalid("participants would be dead after more than %d cycles, by dead factor and slack", oldest-1)
	}
	up := bits.Len(uint(n - 1)) // ⌈log2 n⌉
	down := bits.Len(uint(n)) - 1
	l := Limits{Fudge: choose(c.Fudge, down/4)}
	if l.Fudge > down/2 {
		return Limits{}, invalid("fudge %d is above %d, half the logarithm of %d participants", l.Fudge, down/2, n)
	}
	if c.Strict {
		l.Dead, l.Obsolete = max(up, 1), max(up, 1)
		l.Again = l.Dead
	} else {
		l.Dead = max(choose(c.DeadFloor, 16), choose(c.DeadFactor, 2)*up+choose(c.DeadSlack, 4)+l.Fudge)
		l.Obsolete = choose(c.Obsolete, max(4*up, 40))
		// Some nodes notice a death some cycles before others. If Again were as high as Dead, these
		// nodes would hear the age that a later node still has, report that the participant is alive
		// again, and then report another death.
		l.Again = max(l.Dead-up/2-2, (l.Dead+1)/2)
		// News takes log2 N cycles to reach all participants, and so Overdue lies that far below the
		// limit of death. The age of a live participant rarely exceeds Overdue, and if it does, there
		// is still time to hear of the participant before the limit. The age of a dead participant
		// always exceeds Overdue.
		l.Overdue = min(max(l.Dead-up-2, (l.Dead+1)/2), l.Again)
	}
	if l.Dead >= oldest || l.Dead < 1 {
		return Limits{}, invalid("participants would be dead after %d cycles: want 1 to %d, by dead factor and slack", l.Dead, oldest-1)
	}
	l.Stealth = l.Dead + up + 4
	l.VeryOld = min(l.Stealth, oldest)
	l.Resync = up + 2
	return l, nil
}

func choose(value, byDefault int) int {
	if value == 0 {
		return byDefault
	}
	return max(value, 0)
}
