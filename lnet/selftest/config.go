package selftest

import (
	"log/slog"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/wire"
)

// Config configures an [Agent]. The zero value of a field means its default.
type Config struct {
	// Allow reports whether a node may make sessions here and send test RPCs, and whether tests of
	// this node may have it as their destination. It must not block. When its answers change,
	// call Recheck. Nil: every node.
	Allow func(nid.NID) bool
	// SessionTimeout is how long a session lasts without a request of a console, even one that is
	// refused. Default 100 s, negative: without end.
	SessionTimeout time.Duration
	// RPCTimeout is how long the node waits for the end of an RPC. Default 64 s, negative: without
	// end.
	RPCTimeout time.Duration
	// RetryDelay is how long a unit of a test waits after an RPC that failed. It doubles with each
	// further failure of the unit, up to 1 s. Default 10 ms, at least 1 ms.
	RetryDelay time.Duration
	// MaxBatches, MaxTests and MaxUnits bound the batches, tests and units of a session. Defaults
	// 64, 1024 and 65536.
	MaxBatches, MaxTests, MaxUnits int
	// MaxWaiting bounds the requests of consoles that wait for their turn, and also the BRW requests
	// that wait for memory. Default 2048 of each.
	MaxWaiting int
	// MaxBulk bounds the bytes of bulk data that the node serves as server at one time; each client
	// may have a quarter of them. It also bounds the bytes of bulk data of the node's own RPCs; the
	// units beyond it wait. Default 64 MiB.
	MaxBulk int
	// Log gets failures to send. Nil: nothing is logged.
	Log *slog.Logger
	// Clock is the clock of the agent. Nil: the clock of the node.
	Clock machine.Clock
}

// Engine returns the configuration of the machine. FirstID is not set.
func (c *Config) Engine() engine.Config {
	return engine.Config{
		Allow: c.Allow, SessionTimeout: c.SessionTimeout, RPCTimeout: c.RPCTimeout, RetryDelay: c.RetryDelay,
		MaxBatches: c.MaxBatches, MaxTests: c.MaxTests, MaxUnits: c.MaxUnits, MaxWaiting: c.MaxWaiting, MaxBulk: c.MaxBulk,
	}
}

// Status is what an agent is doing, with its counters since the start.
type Status struct {
	Session    string `json:"session"`            // id of the session, or "none"
	Name       string `json:"name,omitempty"`     // name of the session
	Calls      int    `json:"calls"`              // RPCs of this node as client that are under way
	Moving     int    `json:"moving"`             // bytes of bulk data that this node serves now
	Sent       uint64 `json:"sent"`               // requests sent
	Received   uint64 `json:"received"`           // requests received
	Dropped    uint64 `json:"dropped"`            // requests received and not answered
	Expired    uint64 `json:"expired"`            // RPCs that did not end within RPCTimeout
	Errors     uint64 `json:"errors"`             // RPCs and transfers that the network failed
	BulkGet    uint64 `json:"bulk_get"`           // bytes that the node has got as server
	BulkPut    uint64 `json:"bulk_put"`           // bytes that the node has put as server
	BRWErrors  uint64 `json:"brw_errors"`         // BRW RPCs that failed, as client
	PingErrors uint64 `json:"ping_errors"`        // PING RPCs that failed, as client
	Malformed  uint64 `json:"malformed"`          // requests that are not well-formed for their service
	NotAllowed uint64 `json:"not_allowed"`        // requests and destinations that Config.Allow refuses
	Overload   uint64 `json:"overload"`           // requests dropped, and replies not sent, because too many waited
	TimedOut   uint64 `json:"sessions_timed_out"` // sessions that ended by their time-out
}

// statusOf converts the counters of the machine to a Status.
func statusOf(s engine.Stats) Status {
	return Status{
		Session: s.Session.String(), Name: s.Name, Calls: s.Calls, Moving: s.Moving,
		Sent: uint64(s.Sent), Received: uint64(s.Received), Dropped: uint64(s.Dropped), Expired: uint64(s.Expired), Errors: uint64(s.Errors),
		BulkGet: s.BulkGet, BulkPut: s.BulkPut, BRWErrors: uint64(s.BRWErrors), PingErrors: uint64(s.PingErrors),
		Malformed: s.Malformed, NotAllowed: s.NotAllowed, Overload: s.Overload, TimedOut: s.TimedOut,
	}
}

// Request buffers of each portal. Further requests wait at the portal, which is lazy.
const buffers = 64

// A goroutine that hands an event to the machine carries out the effects of about as many steps
// as the constant turn says, and no more. While the effects of mostPending steps wait, requests
// are dropped.
const (
	turn        = 1 << 10
	mostPending = 1 << 14
)

// The bounds of the outbox for requests. Each message has wire.MessageSize bytes. mostMessages also bounds replies.
const (
	mostBytes    = 1 << 17 * wire.MessageSize
	mostMessages = 1 << 14 // most messages to one node
)
