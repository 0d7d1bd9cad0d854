package scoll

import (
	"log/slog"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
	"ulnet/scoll/engine"
)

// Config configures an [Agent]. The zero value of a field means its default.
type Config struct {
	// Self is the NID under which this node is a member. Default: the node's, if it has one.
	Self nid.NID
	// Incarnation is the number of this incarnation of the node, higher than that of any incarnation
	// before. Default: the node's.
	Incarnation uint64
	// RTT is the estimated round trip time of the network. Default 10 ms.
	RTT time.Duration
	// Guard is what a level of the tree may take beyond the RTT. Default RTT/4,
	// at least 5 ms (SC-A8).
	Guard time.Duration
	// MinBulkRate is how fast bulk data comes at least, in bytes per second.
	// Default 100 MB/s.
	MinBulkRate int
	// MaxPayload is what a message carries at most, in bytes: what is longer is
	// fetched, or answered, in several. Default 1 MiB, LNet's smallest.
	MaxPayload int
	// MaxActive bounds the requests of others that are under way; further ones
	// are held, four times as many (1024 at least) and 8 MiB at most, and those beyond
	// that answered with EMAXACTIVE. Requests that wait for lists of members from one
	// peer are a quarter of MaxActive at most. Default 1024.
	MaxActive int
	// MaxMembers bounds the nodes of a group. Default 131072.
	MaxMembers int
	// MaxGroups bounds the groups of others that are known here, and, apart from
	// these, the out-of-band groups that broadcasts of this node bring. The least
	// recently used one makes room for another; only if all are in use requests
	// over further ones are answered with EMAXGROUPS. It should not be less than
	// the requests that can be under way, each of which may have a group of its
	// own. Default 8192.
	MaxGroups int
	// MaxChildren bounds the children that others have this node send to: a list
	// of members and a tree are what a root says, and each child costs a
	// connection. More are refused with EINVAL. Default 1024.
	MaxChildren int
	// MaxTimeout is the longest time-out of a broadcast that can be: a longer one
	// is refused, and tombstones of groups are kept for twice as long. Default
	// ten minutes.
	MaxTimeout time.Duration
	// Propagation is how long news of discovery take to reach everybody: between
	// attempts to reach the live members, while members disagree about who they
	// are (SC-A20). Default one second.
	Propagation time.Duration

	View View // nil: all nodes are alive
	// Wall is the wall clock with which incarnations are compared: members refuse one that
	// is more than a day above theirs. nil: the time since this node's own incarnation.
	Wall  func() time.Time
	Log   *slog.Logger // nil discards
	Clock machine.Clock
	// Keys sign all messages, if there are any; then what is not signed with one of them
	// is refused. All nodes have the same. [Agent.SetKeys] changes them.
	Keys keyring.Keys
	// Worker runs a function that may block, after it has returned itself, each
	// exactly once: Close waits for them. They are IncomingRequest, and calls that
	// would otherwise be made within others or wait for them. Default: a timer of
	// Clock that is due at once, which on a real clock has a goroutine of its own.
	// Who can start goroutines saves the timer by that.
	Worker func(func())
	// Buffers is how many requests can arrive at a time without waiting, 4 KiB
	// each. Default 64.
	Buffers int
	// CheckBulk looks, at the cost of two checksums, whether services modify bulk
	// data while children fetch them; see [Agent.BulkModified].
	CheckBulk bool
}

// Engine returns the configuration of the machine that an agent with this one steps.
func (c Config) Engine() engine.Config {
	return engine.Config{
		Self: c.Self, Incarnation: c.Incarnation, RTT: c.RTT, Guard: c.Guard, MinBulkRate: c.MinBulkRate,
		MaxPayload: c.MaxPayload, MaxActive: c.MaxActive, MaxMembers: c.MaxMembers, MaxGroups: c.MaxGroups,
		MaxChildren: c.MaxChildren, MaxTimeout: c.MaxTimeout, Propagation: c.Propagation,
		Watched: c.View != nil, Signed: c.Keys.Len() > 0,
	}
}
