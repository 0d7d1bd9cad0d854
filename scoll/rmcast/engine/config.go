package engine

import (
	"cmp"
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// Config configures the [Machine] of one member of one group.
type Config struct {
	Self nid.NID // NID that this node uses as a member
	// Incarnation rises with each start of the node. Rejoining after an expulsion adds 1.
	Incarnation uint64
	// Wall is the wall clock at the first step, in nanoseconds since 1970. Epochs and incarnations more
	// than EpochSlack above the wall clock are refused. Default: Incarnation.
	Wall  uint64
	Group wire.GroupID // number of the group
	// Managers are the nodes that may manage the group, in order of precedence (RM-A18). At
	// least one.
	Managers []nid.NID
	// Admit are the nodes besides Managers that may be members: this member ignores messages
	// of all others. Nil admits all nodes.
	Admit []nid.NID
	// MTU is the largest payload of a multicast datagram, in bytes. 0 says that this node has
	// no multicast; the payload then goes down the tree for all members.
	MTU int
	// Capacity is the memory of this node for datagrams that wait in the system, in bytes,
	// including the system's overhead (RM-A21). 0 means enough for a window.
	Capacity int
	// FIFO delivers the messages of each origin in the order in which it sent them.
	FIFO bool

	// RTT is the round-trip time assumed before the first measurement; MinRTT and MaxRTT bound
	// the estimate. Defaults 1 ms, 100 µs, 200 ms.
	RTT, MinRTT, MaxRTT time.Duration
	// Guard is the minimum that a timeout for a child allows in addition to the round trip, for each
	// level of the subtree (RM-A4). Default 5 ms.
	Guard time.Duration
	// AckDelay is how long acknowledgements are delayed to be merged while several messages
	// are in flight (RM-A19). Default 200 µs.
	AckDelay time.Duration
	// Idle is the time after the last datagram at which an origin announces what is stable. It
	// repeats that after twice and four times as long. Default 50 ms.
	Idle time.Duration
	// Silence is how long an origin may be silent before a member that keeps its payload queries
	// it. Default 1 s.
	Silence time.Duration
	// ReportInterval is the time between two reports to the manager, and before a request to
	// the manager is repeated. Default 500 ms.
	ReportInterval time.Duration
	// LeaveAfter bounds how long a leaving member serves the messages in flight (RM-A11).
	// Default 10 s.
	LeaveAfter time.Duration
	// HealAfter is how long this member hears no manager of its epoch before it joins a
	// manager of a lower epoch, as a new member. Default 10 s.
	HealAfter time.Duration
	// Memory bounds the datagrams of other origins that a member keeps in a group that all
	// nodes may join, in bytes. Default 64 MiB.
	Memory int
	// Seed is the seed of the random faults that [Faults] asks for.
	Seed uint64
	// Faults are the faults in effect from the start.
	Faults Faults
}

// Faults are probabilities, from 0 to 1, with which a member discards messages on arrival,
// above the network (RM-24).
type Faults struct {
	Acks      float64 // probability of discarding a control message
	Datagrams float64 // probability of discarding a datagram that came by multicast
}

// Constants of local policy, which the design does not give.
const (
	suspectAfter = 4               // number of timeouts until a child is reported as suspect
	maxBackoff   = 3               // largest number of doublings of a timeout
	deafAfter    = 8               // repairs in a row, without a datagram by multicast, until Deaf is reported
	beats        = 3               // number of heartbeats of an idle origin, and of tail probes
	rotateAfter  = 3               // number of unanswered reports until another manager is asked
	sticks       = 4               // report intervals without an order until another manager may take over
	maxPatience  = 2 * time.Second // longest timeout after several polls
	maxSpread    = time.Second     // bound of the spread of measured acknowledgement times
	maxGrace     = 100 * time.Millisecond
	maxHeld      = 256 // bound of held messages of unknown versions
	heldFor      = 2 * time.Second

	// MaxWindow bounds the datagrams in flight of one origin, MaxFragment the bytes of payload
	// of each.
	MaxWindow   = 4096
	MaxFragment = 64 << 10
)

// Filled returns the configuration with all defaults filled in.
func (c Config) Filled() Config {
	c.RTT = cmp.Or(c.RTT, time.Millisecond)
	c.MinRTT = cmp.Or(c.MinRTT, 100*time.Microsecond)
	c.MaxRTT = cmp.Or(c.MaxRTT, 200*time.Millisecond)
	c.Guard = cmp.Or(c.Guard, 5*time.Millisecond)
	c.AckDelay = cmp.Or(c.AckDelay, 200*time.Microsecond)
	c.Idle = cmp.Or(c.Idle, 50*time.Millisecond)
	c.Silence = cmp.Or(c.Silence, time.Second)
	c.ReportInterval = cmp.Or(c.ReportInterval, 500*time.Millisecond)
	c.LeaveAfter = cmp.Or(c.LeaveAfter, 10*time.Second)
	c.HealAfter = cmp.Or(c.HealAfter, 10*time.Second)
	c.Memory = cmp.Or(c.Memory, 64<<20)
	return c
}
