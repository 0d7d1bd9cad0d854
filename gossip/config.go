package gossip

import (
	"log/slog"
	"time"

	"ulnet/gossip/engine"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// Config configures an [Agent]. The zero value of a field means its default; negative
// numbers mean zero where zero is possible.
type Config struct {
	// Participants are the NIDs of all servers, the same everywhere, in any order and of
	// one LNet network. This node has one of them. Required.
	Participants []nid.NID
	// Interval between gossip cycles, the same everywhere; at least 200 ms and RTT/2.
	// Required.
	Interval time.Duration
	// RTT is the estimated round trip time of the network.
	RTT time.Duration

	// A participant is dead when it was last heard of more than DeadFactor·⌈log2 N⌉ + DeadSlack
	// + Fudge cycles ago, and more than DeadFloor cycles ago. Defaults 2, 4 and 16.
	DeadFactor, DeadSlack, DeadFloor int
	// Fudge makes replies shorter: a reply includes an age only if it is lower than the age in
	// the peer's ping by at least 2 + Fudge cycles. Default ⌊log2 N / 4⌋, at most ⌊log2 N / 2⌋.
	Fudge int
	// Obsolete is by how much the Lamport clock of a message may be behind this node's before the
	// message is dropped. Default 4·⌈log2 N⌉, at least 40.
	Obsolete int
	// Quorum is a percentage: there is a quorum while more than this percentage of the
	// participants, this node included, is alive. Default 50.
	Quorum int
	// ColdStart makes the node speak at once, for a cluster that starts as a whole.
	// Otherwise it is silent until all others have detected the death of its last
	// incarnation.
	ColdStart bool
	// Strict keeps to the letter of the design: the limits of death and of obsolete messages are ⌈log2
	// N⌉, a participant with other parameters stops every node that hears it, and a node does not
	// notice its own pauses.
	Strict bool
	// Keys are the keys of the cluster, if it has any. Each message then carries a code that
	// only a node with a key can compute, and messages without such a code are dropped.
	// [Agent.SetKeys] changes them.
	Keys keyring.Keys
	// Seed seeds the random choice of partners and of the phase of the cycles. It is combined with
	// the NID, so nodes with the same seed draw different numbers.
	Seed uint64
	// Trace remembers for [Agent.Explain] which peer last brought news of each
	// participant; about 50 bytes each.
	Trace bool

	// Notify is called with each event, in the order of [Agent.History]. The caller is the goroutine
	// that steps the machine, so Notify must neither block nor call the agent. May be nil.
	Notify func(Event)
	Log    *slog.Logger // nil: nothing is logged
	// Clock is the agent's clock: if it jumps ahead, the agent knows that the node was paused. By
	// default it is the node's clock. machine.BootClock, which is for real time only, also jumps after
	// the system was suspended.
	Clock machine.Clock
}

// Engine returns the configuration of the machine that an agent with this configuration steps.
// The result's method Limits checks the parameters and returns the limits that follow from
// them.
func (c Config) Engine() engine.Config {
	return engine.Config{
		Interval: c.Interval, RTT: c.RTT,
		DeadFactor: c.DeadFactor, DeadSlack: c.DeadSlack, DeadFloor: c.DeadFloor,
		Fudge: c.Fudge, Obsolete: c.Obsolete, Quorum: c.Quorum,
		ColdStart: c.ColdStart, Strict: c.Strict, Keys: c.Keys, Seed: c.Seed, Trace: c.Trace,
	}
}
