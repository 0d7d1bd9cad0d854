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
	minBulkRate   = 100_000_000 // bytes per second
	maxPayload    = 1 << 20
	maxActive     = 1024
	moduleTime    = time.Second // what members take to read a list, and busy ones to forget a group
	maxMembers    = 131_072
	maxGroups     = 8192
	maxChildren   = 1024
	maxAttempts   = 3         // to reach the live members again
	maxTries      = 3         // to send a message that cannot be sent
	maxListSize   = 256 << 20 // of the lists that a member fetches at a time
	maxTombstones = 4096
	maxRooms      = 256 << 10 // bytes for what the children of a request carry
)

// Config configures a [Machine]. The zero value of a field means its default.
type Config struct {
	// Self is the NID under which this node is a member. Required.
	Self nid.NID
	// Incarnation is the number of this incarnation of the node, higher than that of
	// any incarnation before. Required.
	Incarnation uint64
	// Estimates and bounds, see scoll.Config. MaxPayload is at most LNet's.
	RTT, Guard                                    time.Duration
	MinBulkRate, MaxPayload                       int
	MaxActive, MaxMembers, MaxGroups, MaxChildren int
	MaxTimeout, Propagation                       time.Duration

	// Watched says that inputs tell who is alive: who was not said to be is
	// dead. Otherwise everybody is alive.
	Watched bool
	// Signed says that messages are signed, as inputs say. All nodes are the same in
	// that.
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

// bulkTime is what bulk data of so many bytes takes per level, b in SC-A8.
func (c *Config) bulkTime(length uint64) time.Duration {
	if length == 0 {
		return 0
	}
	seconds := float64(length) / float64(c.MinBulkRate)
	return c.RTT + time.Duration(min(seconds, 3600)*float64(time.Second))
}

// childTimeout is how long a node waits for a child whose subtree has so many
// levels: T(d) = d·(R + g + b) + (d-1)·(R + g) + P, from its sending on. The guard
// g keeps a node's own time-out and its parent's apart: without it an answer that
// names a mute leaf would come in the very instant in which the parent gives the
// whole subtree up (SC-A8). The other R + g of each level above the leaves is for the
// service there: so much is left to it after a child was given up, to aggregate and to
// reply. P is the time that processing takes; subtrees work at the same time, so it
// counts once.
func childTimeout(h *wire.RequestHeader, depth int, processing time.Duration) time.Duration {
	return time.Duration(depth)*(h.RTT+h.Guard+h.BulkTime) + time.Duration(depth-1)*(h.RTT+h.Guard) + processing
}

// answerTimeout is how long the service of a member may take before the module
// answers for it: a guard less than its parent waits, which counts from an RTT
// earlier, both ways of the messages included (SC-A28). A leaf, which has no child to
// wait for, has half of its guard to itself.
func answerTimeout(h *wire.RequestHeader, depth int) time.Duration {
	guard := h.Guard
	if depth == 1 {
		guard /= 2
	}
	return childTimeout(h, depth, h.Processing) - h.RTT - guard
}
