package engine

import (
	"cmp"
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// ManagerConfig configures the [Manager] of one group.
type ManagerConfig struct {
	Self nid.NID // NID that this manager uses
	// Incarnation rises with each start of the node.
	Incarnation uint64
	// Wall is the wall clock at the first step, in nanoseconds since 1970. Epochs and incarnations more
	// than EpochSlack above the wall clock are refused. Default: Incarnation.
	Wall  uint64
	Group wire.GroupID // number of the group
	// Managers are the nodes that may manage the group, in order of precedence.
	Managers []nid.NID
	// Admit are the nodes besides Managers that may be members: this manager refuses all
	// others. Nil admits all nodes.
	Admit []nid.NID
	// Window bounds the datagrams in flight of one origin, and Fragment the payload of each in
	// bytes. Defaults 128 and 4096.
	Window   int
	Fragment int // see Window
	// Members bounds the number of members of the group; further nodes wait until there is room.
	// The members must be able to receive lists of as many. Default MaxMembers.
	Members int
	// Resend is the time after which a list that a member has not acknowledged is sent again.
	// Default 200 ms.
	Resend time.Duration
	// Collect is how long a new manager waits for the reports of members. Four times that must
	// be less than Config.HealAfter of all members. Default 2 s.
	Collect time.Duration
	// Heartbeat is the interval at which the other managers are told that this one is active.
	// Takeover is the silence after which the next one takes over. Defaults 500 ms and 3 s.
	Heartbeat, Takeover time.Duration
	// LeaveAfter is how long a leaving member may serve the messages in flight without being heard; then it counts as
	// ended. At least Config.LeaveAfter of all members. Default 10 s.
	LeaveAfter time.Duration
	// MemberTimeout is how long the manager hears nothing of a member until the member is left behind, if the members
	// that are heard are a majority; members report each half second. It does not end the wait for a member that the
	// manager hears, but whose parent in the tree does not hear it. A member is also left behind if it sends for that
	// long under an old list: one that more than 64 lists have followed, or one because of which members that have
	// departed since leave no room for further nodes. Default 30 s; negative: never. Without a View, each killed
	// process blocks senders for that long, and they get ErrSplit.
	MemberTimeout time.Duration
	// FirstAck is how long a new member has to acknowledge its first list. Default 5 s.
	FirstAck time.Duration
	// LeastFragment refuses members whose multicast datagrams hold fewer bytes of payload, and
	// those without multicast. Default 0 admits them; if one has less than a sixteenth of
	// Fragment, all payload goes down the tree.
	LeastFragment int
	// LeastCapacity is the memory that a member is assumed to have if it reports less, in
	// bytes. Default 0.
	LeastCapacity int
}

// Filled returns the configuration with all defaults filled in.
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

// tooShort reports whether a node's datagrams are shorter than the group allows.
func (c *ManagerConfig) tooShort(o *wire.Order) bool {
	return c.LeastFragment > 0 && int(o.MTU)-wire.HeaderSize < c.LeastFragment
}

// ManagerStats counts what a [Manager] did.
type ManagerStats struct {
	Joins, Leaves, Failures uint64 // number of members that joined, left, or failed
	Lists                   uint64 // number of lists published
	Resent                  uint64 // number of lists sent again because the member had not acknowledged them
	Collections             uint64 // searches of a new manager for members and lists
	Malformed               uint64 // messages that could not be parsed
	OtherVersion            uint64 // messages of another version of the protocol (RM-A23)
	Full                    uint64 // requests to join that found no room
	Stranger                uint64 // messages of nodes that may not be members
	Ahead                   uint64 // messages with epochs or incarnations far above the wall clock
	Claims                  uint64 // reports of later epochs that members sent
	Contradicted            uint64 // members that alone reported live ones as failed
	Denied                  uint64 // messages of this manager that members refused
	Canvasses               uint64 // pre-votes that this manager has begun
	Alone                   uint64 // times that too few members were heard
	Silent                  uint64 // members left behind because they were silent, did not acknowledge a list, or used a list that was too old
	Unacknowledged          uint64 // members that did not acknowledge their first list
	Limits                  uint64 // requests to join of nodes with too short datagrams
}
