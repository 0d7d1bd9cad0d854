package engine

import (
	"time"

	"ulnet/lnet/nid"
	"ulnet/scoll/wire"
)

// Defaults and bounds of [Config].
const (
	DefaultRTT    = 10 * time.Millisecond
	minGuard      = 5 * time.Millisecond
	minBulkRate   = 100_000_000 // lowest rate of bulk data, in bytes per second
	maxPayload    = 1 << 20
	maxActive     = 1024
	moduleTime    = time.Second // time for a member to read a list, or to forget a group while busy
	maxMembers    = 131_072
	maxGroups     = 8192
	maxChildren   = 1024
	maxAttempts   = 3         // how many attempts a broadcast has to reach all live members
	maxTries      = 3         // tries to send a message that cannot be sent
	maxListSize   = 256 << 20 // bytes of all lists of members that are being fetched at a time
	maxTombstones = 4096
	maxRooms      = 256 << 10 // bytes of carried answers of all children of a request
)

// Config configures a [Machine]. The zero value of a field means its default.
type Config struct {
	// Self is the NID under which this node is a member. Required.
	Self nid.NID
	// Incarnation is the number of this incarnation of the node, higher than those of all its
	// earlier incarnations. Required.
	Incarnation uint64
	// RTT is the estimated round trip time of the network. Guard is the time that timeouts allow in
	// addition to it, for each level of the tree. See scoll.Config.
	RTT, Guard time.Duration
	// MinBulkRate is the lowest rate at which bulk data is expected to arrive, in bytes per second.
	MinBulkRate int
	// MaxPayload is the most that a message carries, in bytes; at most LNet's.
	MaxPayload int
	// MaxActive bounds the requests of other nodes that have an admission slot.
	MaxActive int
	// MaxMembers bounds the number of nodes of a group.
	MaxMembers int
	// MaxGroups bounds the cached groups of other nodes, see cache.go.
	MaxGroups int
	// MaxChildren bounds the children of this node in a tree of another root.
	MaxChildren int
	// MaxTimeout bounds the timeout of a broadcast.
	MaxTimeout time.Duration
	// Propagation is the time in which all nodes learn of a failure.
	Propagation time.Duration

	// Watched says that Health inputs report which nodes are alive; nodes without a report count
	// as dead. Otherwise all nodes count as alive.
	Watched bool
	// Signed says that all nodes sign their messages. Inputs say which signatures verified.
	Signed bool
}

// filled returns c with its defaults.
func (c Config) filled() Config {
	c.RTT = orDefault(c.RTT, DefaultRTT)
	c.Guard = orDefault(c.Guard, max(c.RTT/4, minGuard))
	c.MinBulkRate = orDefault(c.MinBulkRate, minBulkRate)
	c.MaxPayload = orDefault(c.MaxPayload, maxPayload)
	c.MaxActive = orDefault(c.MaxActive, maxActive)
	c.MaxMembers = orDefault(c.MaxMembers, maxMembers)
	c.MaxGroups = orDefault(c.MaxGroups, maxGroups)
	c.MaxChildren = orDefault(c.MaxChildren, maxChildren)
	c.MaxTimeout = orDefault(c.MaxTimeout, 10*time.Minute)
	c.Propagation = orDefault(c.Propagation, time.Second)
	return c
}

func orDefault[T int | time.Duration](value, byDefault T) T {
	if value <= 0 {
		return byDefault
	}
	return value
}

// bulkTime returns how long bulk data takes per level of the tree: the b in the timeouts of
// SC-A8.
func (c *Config) bulkTime(length uint64) time.Duration {
	if length == 0 {
		return 0
	}
	seconds := float64(length) / float64(c.MinBulkRate)
	return c.RTT + time.Duration(min(seconds, 3600)*float64(time.Second))
}

// childTimeout returns how long a node waits for a child whose subtree has depth levels: T(d) =
// d·(R + g + b) + (d-1)·(R + g) + P after sending the request. The guard g separates a node's
// timeout from its parent's. Without it, an answer that names a silent leaf would arrive just
// when the parent gives the whole subtree up (SC-A8). The second R + g of each level above the
// leaves is the time for that level's service to aggregate and reply after a child was given
// up. P is the processing time, which counts once because subtrees work in parallel.
func childTimeout(h *wire.RequestHeader, depth int, processing time.Duration) time.Duration {
	return time.Duration(depth)*(h.RTT+h.Guard+h.BulkTime) + time.Duration(depth-1)*(h.RTT+h.Guard) + processing
}

// answerTimeout returns how long the service of a member may take before the module answers in
// its place. It is the parent's timeout less a guard, and less an RTT for the request and the
// answer (SC-A28). A leaf, which waits for no child, has half a guard more.
func answerTimeout(h *wire.RequestHeader, depth int) time.Duration {
	guard := h.Guard
	if depth == 1 {
		guard /= 2
	}
	return childTimeout(h, depth, h.Processing) - h.RTT - guard
}
