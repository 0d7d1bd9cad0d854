package engine

import (
	"cmp"
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// ManagerConfig configures the [Manager] of one group.
type ManagerConfig struct {
	Self nid.NID
	// Incarnation rises with every incarnation of the node.
	Incarnation uint64
	Group       wire.GroupID
	// Managers are the nodes that may manage the group, in the order of their turns.
	Managers []nid.NID
	// Admit are the nodes besides Managers that may be members: this manager lets in no
	// others. Nil: all nodes.
	Admit []nid.NID
	// Window is how many datagrams of one origin are in flight at most, and Fragment
	// how many bytes of payload each has at most. Defaults 128 and 4096.
	Window   int
	Fragment int
	// Members is how many there can be at most; who wants to join a full group waits.
	// Default MaxMembers.
	Members int
	// Resend is how long a member has to acknowledge a list until it is sent again.
	// Default 200 ms.
	Resend time.Duration
	// Collect is how long a new manager waits for members to tell what they know. Four
	// times that has to be less than Config.HealAfter of all members.
	// Default 2 s.
	Collect time.Duration
	// Heartbeat is how often the other managers are told, and Takeover how long one
	// hears nothing until it is its turn. Defaults 500 ms and 3 s.
	Heartbeat, Takeover time.Duration
	// LeaveAfter is how long a leaver serves what is under way. Default 10 s.
	LeaveAfter time.Duration
	// MemberTimeout is after what silence a member is left behind, if most of the others are
	// heard: members report each half second. Default 30 s; negative: never.
	// Without a View each killed process costs that long, and ErrSplit.
	MemberTimeout time.Duration
	// FirstAck is how long a member has to acknowledge the first list with it. Default 5 s.
	FirstAck time.Duration
	// LeastFragment refuses members that cannot have so many bytes of payload in a
	// datagram by multicast, those without multicast included. Default 0: they are let in,
	// and with less than a sixteenth of Fragment all payload goes down the tree.
	LeastFragment int
	// LeastCapacity is what a member is taken to have room for if it says less, in bytes.
	// Default 0.
	LeastCapacity int
}

// Filled returns the configuration with all defaults.
func (c ManagerConfig) Filled() ManagerConfig {
	c.Window = min(max(cmp.Or(c.Window, 128), 1), MaxWindow)
	c.Fragment = min(max(cmp.Or(c.Fragment, 4096), 1), MaxFragment)
	c.Members = min(max(cmp.Or(c.Members, wire.MaxMembers), 1), wire.MaxMembers)
	c.Resend = cmp.Or(c.Resend, 200*time.Millisecond)
	c.Collect = cmp.Or(c.Collect, 2*time.Second)
	c.Heartbeat = cmp.Or(c.Heartbeat, 500*time.Millisecond)
	c.Takeover = cmp.Or(c.Takeover, 3*time.Second)
	c.LeaveAfter = cmp.Or(c.LeaveAfter, 10*time.Second)
	c.MemberTimeout = cmp.Or(c.MemberTimeout, 30*time.Second)
	c.FirstAck = cmp.Or(c.FirstAck, 5*time.Second)
	return c
}

// tooShort reports whether a node's datagrams are shorter than those of the group may be.
func (c *ManagerConfig) tooShort(o *wire.Order) bool {
	return c.LeastFragment > 0 && int(o.MTU)-wire.HeaderSize < c.LeastFragment
}

// ManagerStats counts what a [Manager] did.
type ManagerStats struct {
	Joins, Leaves, Failures uint64
	Lists                   uint64 // versions
	Resent                  uint64 // lists that were not acknowledged in time
	Collections             uint64 // how often members were asked what they know
	Malformed               uint64
	Full                    uint64 // requests to join for which there was no room
	Stranger                uint64 // from nodes that may not be members
	Ahead                   uint64 // with epochs or lives far above the wall clock
	Claims                  uint64 // reports of later epochs, by members
	Contradicted            uint64 // members that said of live ones that they have failed, alone
	Denied                  uint64 // messages of this manager that members refused, as far as they said so
	Canvasses               uint64 // how often members were asked whether this manager may take over
	Alone                   uint64 // how often too few members were heard to manage the group
	Silent                  uint64 // members that were left behind because they were silent
	Unacknowledged          uint64 // members that did not acknowledge their first list
	Limits                  uint64 // requests to join of nodes with too short datagrams
}
