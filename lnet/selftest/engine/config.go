package engine

import (
	"cmp"
	"errors"
	"time"

	"ulnet/lnet/nid"
)

// Config configures a [Node]. The zero value of a field means its default.
type Config struct {
	// FirstID is one less than the number of the node's first RPC. Kernel nodes take the seconds
	// of the wall clock, shifted by 48 bits, so that RPCs of an earlier incarnation have other
	// numbers. Required.
	FirstID uint64
	// Allow reports whether a node may make sessions here and send test RPCs, and whether tests of
	// this node may have it as their destination. Nil: every node. It is a pure function.
	Allow func(nid.NID) bool
	// SessionTimeout is how long a session lasts without a request of a console, even one that is
	// refused. Default 100 s, negative: without end.
	SessionTimeout time.Duration
	// RPCTimeout is how long the node waits for the end of an RPC. Default 64 s, negative: without
	// end.
	RPCTimeout time.Duration
	// RetryDelay is how long a unit of a test waits after an RPC that failed; kernel nodes do not wait. The time
	// doubles with each further failure of the unit, up to 1 s. Default 10 ms, at least 1 ms.
	RetryDelay time.Duration
	// MaxBatches, MaxTests and MaxUnits bound the batches, tests and units of a session. Defaults
	// 64, 1024 and 65536.
	MaxBatches, MaxTests, MaxUnits int
	// MaxWaiting bounds the requests of consoles that wait for their turn, and also the BRW requests that
	// wait for memory. Default 2048 of each: a kernel node has up to 1024 requests open.
	MaxWaiting int
	// MaxBulk bounds the bytes of bulk data that the node serves as server at one time; each client
	// may have a quarter of them. It also bounds the bytes of bulk data of the node's own RPCs; the
	// units beyond it wait. Default 64 MiB.
	MaxBulk int
}

// errFirstID says that Config lacks the number of the first RPC.
var errFirstID = errors.New("selftest: FirstID is missing: take the seconds of the wall clock, shifted by 48 bits")

// filled returns the configuration with its defaults.
func (c Config) filled() (Config, error) {
	if c.FirstID == 0 {
		return c, errFirstID
	}
	if c.Allow == nil {
		c.Allow = func(nid.NID) bool { return true }
	}
	c.SessionTimeout = cmp.Or(c.SessionTimeout, 100*time.Second)
	c.RPCTimeout = cmp.Or(c.RPCTimeout, 64*time.Second)
	c.RetryDelay = max(cmp.Or(c.RetryDelay, 10*time.Millisecond), time.Millisecond)
	c.MaxBatches = cmp.Or(c.MaxBatches, 64)
	c.MaxTests = cmp.Or(c.MaxTests, 1024)
	c.MaxUnits = cmp.Or(c.MaxUnits, 1<<16)
	c.MaxWaiting = cmp.Or(c.MaxWaiting, 2048)
	c.MaxBulk = max(cmp.Or(c.MaxBulk, 64<<20), MaxLength)
	return c, nil
}
