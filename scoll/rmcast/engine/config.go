package engine

import (
	"cmp"
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// Config configures the [Machine] of one member of one group.
type Config struct {
	Self nid.NID
	// Incarnation rises with every incarnation of the node. Joining again after an expulsion
	// adds 1.
	Incarnation uint64
	Group       wire.GroupID
	// Managers are the nodes that may manage the group, in the order of their
	// turns (RM-A18). At least one.
	Managers []nid.NID
	// Admit are the nodes besides Managers that may be members: this member takes messages
	// of no others. Nil: all nodes.
	Admit []nid.NID
	// MTU is the largest payload of a multicast datagram, in bytes. 0: this node
	// has no multicast, and the payload goes down the tree for all.
	MTU int
	// Capacity is how many bytes of memory there are at this node for datagrams that
	// wait, what the system adds to each included (RM-A21). 0: enough for a window.
	Capacity int
	// FIFO delivers the messages of an origin in the order in which it sent them.
	FIFO bool

	// RTT is the round trip that is assumed until some are measured, MinRTT and
	// MaxRTT bound what is made of measurements. Defaults 1 ms, 100 µs, 200 ms.
	RTT, MinRTT, MaxRTT time.Duration
	// Guard is the least slack per level of the tree (RM-A4). Default 5 ms.
	Guard time.Duration
	// AckDelay is how long acknowledgements wait for each other when several
	// messages are in flight (RM-A19). Default 200 µs.
	AckDelay time.Duration
	// Idle is how long after its last datagram an origin says what is stable; it
	// says so again after twice and four times as long. Default 50 ms.
	Idle time.Duration
	// Silence is after what time whoever keeps payload asks its origin. Default 1 s.
	Silence time.Duration
	// ReportInterval is how often a member says what it knows, and how long it
	// waits for an answer before it asks again. Default 500 ms.
	ReportInterval time.Duration
	// LeaveAfter is how long a leaver serves the messages under way (RM-A11).
	// Default 10 s.
	LeaveAfter time.Duration
	// HealAfter is how long no manager with the epoch of this member is heard until it
	// joins one of a lower epoch, as another member. Default 10 s.
	HealAfter time.Duration
	// Memory bounds what datagrams of other origins take at a member of a group that
	// all nodes may join, in bytes. Default 64 MiB.
	Memory int
	// Seed is for the faults that [Faults] asks for.
	Seed uint64
	// Faults are what is discarded from the start.
	Faults Faults
}

// Faults are shares of messages, from 0 to 1, that a member discards on arrival,
// above the network (RM-24).
type Faults struct {
	Acks      float64 // control messages
	Datagrams float64 // that came by multicast
}

// Local policy.
const (
	suspectAfter = 4               // expiries until a child is reported
	maxBackoff   = 3               // doublings
	deafAfter    = 8               // repairs in a row, without a datagram by multicast
	beats        = 3               // heartbeats of an idle origin
	rotateAfter  = 3               // unanswered reports before another manager is asked
	sticks       = 4               // intervals of reports without an order before another manager may take over
	maxPatience  = 2 * time.Second // backed off
	maxSpread    = time.Second     // of measured times to acknowledge
	maxGrace     = 100 * time.Millisecond
	maxHeld      = 256 // datagrams and control messages of unknown versions
	heldFor      = 2 * time.Second

	// MaxWindow bounds the datagrams in flight of one origin, and MaxFragment the bytes
	// of each.
	MaxWindow   = 4096
	MaxFragment = 64 << 10
)

// Filled returns the configuration with all defaults.
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
