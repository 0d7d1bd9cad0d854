package console

import (
	"log/slog"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/selftest/console/engine"
)

// Config configures a [Console]. The zero value of a field means its default.
type Config struct {
	// MaxNodes, MaxGroups, MaxMembers, MaxBatches and MaxTests bound the nodes, the groups, the
	// members of all groups together, the batches, and the tests of a session. Defaults 16384, 1024,
	// 65536, 64 and 256.
	MaxNodes, MaxGroups, MaxMembers, MaxBatches, MaxTests int
	// MaxCalls bounds the RPCs under way; others wait until one of these has ended. Default 1024.
	MaxCalls int
	// MaxCommands bounds the commands under way. Default 64.
	MaxCommands int
	// Log gets failures to send. Nil: nothing is logged.
	Log *slog.Logger
	// Clock is the clock of the console. Nil: the clock of the node.
	Clock machine.Clock
}

// Engine returns the configuration of the machine. FirstID and FirstStamp are not set.
func (c *Config) Engine() engine.Config {
	return engine.Config{
		MaxNodes: c.MaxNodes, MaxGroups: c.MaxGroups, MaxMembers: c.MaxMembers, MaxBatches: c.MaxBatches, MaxTests: c.MaxTests,
		MaxCalls: c.MaxCalls, MaxCommands: c.MaxCommands,
	}
}

// The types of package engine that programs use.
type (
	Error      = engine.Error      // why a command was refused, with an errno and a hint
	Session    = engine.Session    // describes the session
	NewSession = engine.NewSession // what NewSession makes
	Group      = engine.Group      // describes a group
	Node       = engine.Node       // a test node and its state
	State      = engine.State      // what the console knows of a node
	Counts     = engine.Counts     // counts nodes by their state
	Answer     = engine.Answer     // how one node answered one RPC
	Target     = engine.Target     // the nodes that Ping and Stat ask
	Test       = engine.Test       // a test between the nodes of two groups
	Batch      = engine.Batch      // describes a batch
	TestInfo   = engine.TestInfo   // describes a test of a batch
)

// The states of nodes.
const (
	Unknown = engine.Unknown // the node has no session, or has not answered yet
	Active  = engine.Active  // the node has the console's session
	Busy    = engine.Busy    // the node has the session of another console
	Down    = engine.Down    // the node does not answer
)

// firstID returns one less than the number of the first RPC. As in package selftest it is made of
// the time at which the console begins: seconds in the highest 16 bits, nanoseconds below. Bit 47
// is set, unlike in package selftest, so that no RPC of this node's test node has the same number.
func firstID(incarnation uint64, now time.Duration) uint64 {
	const second, console = uint64(time.Second), 1 << 47
	at := incarnation + uint64(now)
	return at/second<<48 | console | at%second<<16
}

// firstStamp returns the stamp of a session made at the zero of the node's clock: milliseconds,
// which also increase from one start of the node to the next.
func firstStamp(incarnation uint64) int64 { return int64(incarnation / uint64(time.Millisecond)) }
