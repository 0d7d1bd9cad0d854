package zone

import (
	"log/slog"
	"time"

	"ulnet/gossip/zone/engine"
	"ulnet/lnet/machine"
	"ulnet/portals/keyring"
)

// Config configures an [Agent]. The zero value of a field means its default.
type Config struct {
	// Zone names the zone. Messages of other zones are refused. Required.
	Zone string
	// Self is the name of this node with at least one of its NIDs. By default it is the name of
	// the host with all NIDs of the node, which fits only one node of a host.
	Self ID
	// Bootstrap are the nodes that discovery asks first; none for the first node (MS-11). Self
	// among them is ignored.
	Bootstrap []ID
	// Management are some members of the management zone. If there are any, this zone is a base
	// zone, whose delegates register with the management zone (MS-95). Otherwise this zone
	// stands alone.
	Management []ID
	// Delegates is how many delegates a base zone has. Default 3.
	Delegates int
	// Supervisor makes this node guard base zones: it is a member of the management zone.
	Supervisor bool

	// Threshold is Θ: how many nodes must suspect a member before it is removed. Default
	// 2.
	Threshold int
	// Successors is K_s, the number of successors on the ring that the node keeps links to; at
	// least Θ (MS-39). Default 2.
	Successors int
	// Random is K_r, the number of random members that the node keeps links to. Default 3, at
	// least 2.
	Random int
	// Aggregation is τ: a node collects changes for this time before it sends them to its
	// neighbours. Default 200 ms.
	Aggregation time.Duration
	// Heartbeat is the time between two heartbeats to a neighbour, give or take a tenth.
	// Default 1 s.
	Heartbeat time.Duration
	// Timeout is how long a neighbour may be silent. Default 3.5 heartbeats.
	Timeout time.Duration
	// Retry is the time after which discovery first sends a request again; the later times are longer and
	// longer. Default 200 ms.
	Retry time.Duration
	// MaxMembers bounds the number of members in the view. Default 16384.
	MaxMembers int
	// MaxAttributes bounds the attributes of a node, as [Attribute.Size] counts.
	// Default 256 KiB, at most 512 KiB, and never more than fits a message of MaxMessage bytes.
	MaxAttributes int
	// MaxKeys bounds how many attributes a node has, including deleted ones whose death
	// certificates are still kept. Default 8192, at most 16384.
	MaxKeys int
	// MaxMessage bounds the size of a message, in bytes. Default and at most 1 MiB, what LNet
	// carries. All nodes of a zone must have the same bound: a node drops messages that exceed its own.
	MaxMessage int

	// Keys are the keys of the cluster, if it has any. Each message then carries a code that only
	// a node with a key can compute, and messages without such a code are refused (MS-A33).
	// [Agent.SetKeys] changes them.
	Keys keyring.Keys
	// Seed seeds all random choices, combined with Self.
	Seed uint64
	// Wall is the wall clock against which incarnations are checked: versions whose incarnation
	// exceeds it by more than Ahead are refused, because their owners could not refute them
	// (MS-A2). If Wall is nil, the agent estimates the wall clock: the incarnation of the LNet node,
	// which is the wall clock in nanoseconds at its start, plus the time since then. If the clock is
	// set forward by hours later, such an agent refuses nodes that start after that.
	Wall func() time.Time
	// Ahead is how far incarnations may be ahead of the clock. Default 2^44: with
	// incarnations in nanoseconds clocks may differ by some hours.
	Ahead uint64
	// Last is the highest incarnation that was stored in earlier runs of this id, 0 if
	// none was: the next incarnation begins above it.
	Last uint64
	// Keep stores the higher incarnation number that the agent had to take (MS-A2); the next
	// run passes it as Last. [Agent.Join] calls Keep before the agent sends the number to any node. If
	// other nodes make the agent take a higher number later, the agent sends it without waiting for
	// Keep, and calls Keep within a second, with the latest number; calls do not overlap. If the process
	// ends before that, the next run begins below the number that others know, and takes a
	// higher one as soon as they name it. Keep may block, and must not call the agent. If it is nil,
	// nothing is stored.
	Keep func(incarnation uint64)

	Log *slog.Logger // nil: nothing is logged
	// Clock is the agent's clock: if it jumps ahead, the agent knows that the node was paused. By
	// default it is the node's clock. machine.BootClock, which is for real time only, also jumps after
	// the system was suspended.
	Clock machine.Clock
}

// Paper are the parameters of the evaluation in the design (MS-102): Θ=1, K_r=3, K_s=1,
// τ=200 ms.
var Paper = Config{Threshold: 1, Successors: 1, Random: 3, Aggregation: 200 * time.Millisecond}

// Engine returns the configuration of the machine that an agent with this configuration steps.
func (c Config) Engine() engine.Config {
	return engine.Config{
		Zone: c.Zone, Self: c.Self, Bootstrap: c.Bootstrap,
		Management: c.Management, Delegates: c.Delegates, Supervisor: c.Supervisor,
		Threshold: c.Threshold, Successors: c.Successors, Random: c.Random,
		Aggregation: c.Aggregation, Heartbeat: c.Heartbeat, Timeout: c.Timeout, Retry: c.Retry,
		MaxMembers: c.MaxMembers, MaxAttributes: c.MaxAttributes, MaxKeys: c.MaxKeys, MaxMessage: c.MaxMessage,
		Keys: c.Keys, Seed: c.Seed, Ahead: c.Ahead,
	}
}
