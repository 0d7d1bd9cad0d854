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
	// Self is the NID under which this node is a member, one of its own. Default: the node's, if it has one.
	Self nid.NID
	// Incarnation is the number of this incarnation of the node, higher than those of all its
	// earlier incarnations. Default: the node's.
	Incarnation uint64
	// RTT is the estimated round trip time of the network. Default 10 ms.
	RTT time.Duration
	// Guard is the time that timeouts allow in addition to the RTT, for each level of the tree. Default: RTT/4, at
	// least 5 ms (SC-A8).
	Guard time.Duration
	// MinBulkRate is the lowest rate at which bulk data is expected to arrive, in bytes per second.
	// Default 100 MB/s.
	MinBulkRate int
	// MaxPayload bounds the payload of an LNet message, in bytes: longer data is fetched, and
	// longer answers are sent, in several messages. Default 1 MiB, which every LNet can
	// carry.
	MaxPayload int
	// MaxActive bounds the requests of other nodes that run at a time. Further requests are held until
	// earlier ones are over. At most four times MaxActive requests (at least 1024), of 8 MiB in all, are
	// held. Requests beyond that are refused with EMAXACTIVE. At most a quarter of MaxActive requests may
	// wait for lists of members from the same peer. Default 1024.
	MaxActive int
	// MaxMembers bounds the nodes of a group. Default 131072.
	MaxMembers int
	// MaxGroups bounds the cached groups of other nodes and, separately, the out-of-band groups
	// that broadcasts of this node use. A new group displaces the least recently used one.
	// Requests over further groups are refused with EMAXGROUPS, but only if all cached groups
	// are in use. MaxGroups should be at least the number of requests that can be under way,
	// since each may have a group of its own. Default 8192.
	MaxGroups int
	// MaxChildren bounds the children to which this node forwards a request of another root: the
	// root chooses list and tree, and each child costs a connection. A request with more children
	// is refused with EINVAL. Default 1024.
	MaxChildren int
	// MaxTimeout bounds the timeout of a broadcast: a longer one is refused. Tombstones of
	// groups are kept for twice as long. Default ten minutes.
	MaxTimeout time.Duration
	// Propagation is how long discovery takes to converge: if members disagree about which members
	// are alive, the root waits for this time before another attempt to reach the live members
	// (SC-A20). Default one second.
	Propagation time.Duration

	View View // health of nodes, from discovery; nil: all nodes count as alive
	// Wall is the wall clock against which incarnations are checked: members refuse an
	// incarnation that is more than a day above their own wall clock. If Wall is nil, the agent
	// estimates the wall clock: its own incarnation plus the time since its start.
	Wall  func() time.Time
	Log   *slog.Logger  // nil: nothing is logged
	Clock machine.Clock // nil: the clock of the node
	// Keys sign all messages. If there are keys, messages without a valid signature are refused. All nodes
	// have the same keys. [Agent.SetKeys] changes them.
	Keys keyring.Keys
	// Worker starts a function that may block: the function must run exactly once, and not before Worker has returned.
	// Close waits for the function. Such functions call IncomingRequest, and callbacks that are due while another one
	// runs. The default starts a timer of Clock that expires at once; on a real clock its function runs in a goroutine
	// of its own. A Worker that starts a goroutine itself needs no timer.
	Worker func(func())
	// Buffers is how many requests of 4 KiB can arrive at a time without waiting for a
	// buffer. Default 64.
	Buffers int
	// CheckBulk checks, at the cost of two checksums, whether services modify bulk data while
	// children fetch it; see [Agent.BulkModified].
	CheckBulk bool
}

// Engine returns the configuration of the machine of an agent with this configuration.
func (c Config) Engine() engine.Config {
	return engine.Config{
		Self: c.Self, Incarnation: c.Incarnation, RTT: c.RTT, Guard: c.Guard, MinBulkRate: c.MinBulkRate,
		MaxPayload: c.MaxPayload, MaxActive: c.MaxActive, MaxMembers: c.MaxMembers, MaxGroups: c.MaxGroups,
		MaxChildren: c.MaxChildren, MaxTimeout: c.MaxTimeout, Propagation: c.Propagation,
		Watched: c.View != nil, Signed: c.Keys.Len() > 0,
	}
}
