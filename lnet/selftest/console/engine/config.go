package engine

import (
	"cmp"
	"errors"
	"time"
)

// Config configures a [Console]. The zero value of a field means its default.
type Config struct {
	// FirstID is one less than the number of the console's first RPC. It must differ from the
	// numbers of RPCs of the test node that runs on the same node, and of earlier consoles there.
	// Required.
	FirstID uint64
	// FirstStamp is the stamp of a session that would have been made at the zero of the clock, in
	// milliseconds. It must be greater than those of the sessions of earlier consoles on this node.
	FirstStamp int64
	// MaxNodes, MaxGroups, MaxMembers, MaxBatches and MaxTests bound the nodes, the groups, the
	// members of all groups together, the batches, and the tests of a session. Defaults 16384, 1024,
	// 65536, 64 and 256.
	MaxNodes, MaxGroups, MaxMembers, MaxBatches, MaxTests int
	// MaxCalls bounds the RPCs under way; others wait until one of these has ended. Default 1024.
	MaxCalls int
	// MaxCommands bounds the commands under way. Default 64.
	MaxCommands int
}

// Times of a kernel's console (selftest §10).
const (
	leastWait      = 3 * time.Second   // shortest time to wait for the answers of nodes (LST_TRANS_MIN_TIMEOUT)
	mostWait       = 30 * time.Second  // longest time to wait, and the usual one (LST_TRANS_TIMEOUT)
	pingInterval   = 8 * time.Second   // how often the console looks for silent nodes (LST_PING_INTERVAL)
	nodeTimeout    = 100 * time.Second // time-out of a session at a node that has not reported its own
	idleTimeout    = 300 * time.Second // time-out of a session without commands
	defaultBatch   = "batch"           // the batch that each session has from its start
	mostIdle       = 1<<31 - 1         // longest idle time-out in seconds
	mostConcurrent = 1024              // most units for each destination
)

var errFirstID = errors.New("selftest console: FirstID is missing: take one that no other RPC of this node has")

// filled returns the configuration with its defaults.
func (c Config) filled() (Config, error) {
	if c.FirstID == 0 {
		return c, errFirstID
	}
	c.MaxNodes = cmp.Or(c.MaxNodes, 1<<14)
	c.MaxGroups = cmp.Or(c.MaxGroups, 1024)
	c.MaxMembers = cmp.Or(c.MaxMembers, 1<<16)
	c.MaxBatches = cmp.Or(c.MaxBatches, 64)
	c.MaxTests = cmp.Or(c.MaxTests, 256)
	c.MaxCalls = cmp.Or(c.MaxCalls, 1024)
	c.MaxCommands = cmp.Or(c.MaxCommands, 64)
	return c, nil
}
