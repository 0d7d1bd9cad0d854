package main

import (
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/lnet"
	"ulnet/lnet/latency"
)

func statsCommand(g *globals) *cobra.Command {
	c := &cobra.Command{Use: "stats", Short: "Counters of the node"}
	c.AddCommand(statsShow(g), statsReset(g))
	return c
}

func statsShow(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "show [-v [LEVEL]]",
		Short: "Show the node's counters, and why messages were dropped",
		Long: `Shows the node's counters under the names of the kernel's tool, and how many
messages were dropped for which reason. send_refused_count, if there is any, are
messages to peers of which too many wait for their discovery or connection, or for the peer to
read its answers. -v adds why connections were refused or ended, summed up
over all interfaces ('net show -v 3' has them for each), and how long PUTs took until their ACK and
GETs until their data came: one in 64 is timed, since the daemon has started.`,
		Example: "  lnetctl stats show -v",
	}
	level := addVerbose(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := takeOnlyLevel(c, level, args); err != nil {
			return err
		}
		s, err := node.OpStatus.Call(c.Context(), g.client(), control.None{})
		if err != nil {
			return err
		}
		if err := downError(s); err != nil {
			return plainError("show", "statistics", -int(syscall.ENETDOWN), `"cannot get lnet statistics: Network is down"`, err)
		}
		warnOfFaults(c.ErrOrStderr(), s)
		return g.print(c, map[string]statsDoc{"statistics": newStatsDoc(s, *level)})
	}
	return c
}

func statsReset(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "reset",
		Short: "Make the node's counters begin at zero",
		Long: `Makes the counters that 'stats show' has begin at zero. Those of interfaces and peers
('net show -v', 'peer show -v') go on.`,
		Example: "  lnetctl stats reset",
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			err := node.OpResetStats.Call(c.Context(), g.client(), control.None{})
			return failingPlainly(err, "reset", "statistics", "cannot reset lnet statistics: ")
		},
	}
}

// statsDoc has the keys of the kernel's tool, in its order (liblnetconfig
// lustre_lnet_show_stats). The reasons are ulnet's addition.
type statsDoc struct {
	MsgsAlloc         uint64            `json:"msgs_alloc"`
	MsgsMax           uint64            `json:"msgs_max"`
	RstAlloc          uint64            `json:"rst_alloc"`
	Errors            uint64            `json:"errors"`
	Send              uint64            `json:"send_count"`
	Resend            uint64            `json:"resend_count"`
	ResponseTimeout   uint64            `json:"response_timeout_count"`
	LocalInterrupt    uint64            `json:"local_interrupt_count"`
	LocalDropped      uint64            `json:"local_dropped_count"`
	LocalAborted      uint64            `json:"local_aborted_count"`
	LocalNoRoute      uint64            `json:"local_no_route_count"`
	LocalTimeout      uint64            `json:"local_timeout_count"`
	LocalError        uint64            `json:"local_error_count"`
	RemoteDropped     uint64            `json:"remote_dropped_count"`
	RemoteError       uint64            `json:"remote_error_count"`
	RemoteTimeout     uint64            `json:"remote_timeout_count"`
	NetworkTimeout    uint64            `json:"network_timeout_count"`
	FailedResends     uint64            `json:"failed_resends"`
	SuccessfulResends uint64            `json:"successful_resends"`
	Recv              uint64            `json:"recv_count"`
	Route             uint64            `json:"route_count"`
	Drop              uint64            `json:"drop_count"`
	SendLength        uint64            `json:"send_length"`
	RecvLength        uint64            `json:"recv_length"`
	RouteLength       uint64            `json:"route_length"`
	DropLength        uint64            `json:"drop_length"`
	SendRefused       uint64            `json:"send_refused_count,omitempty"` // ulnet's addition, like the reasons: sends that were refused
	DropReasons       map[string]uint64 `json:"drop_reasons,omitempty"`
	ConnectionReasons map[string]uint64 `json:"connection_reasons,omitempty"`
	PutAck            *latencyDoc       `json:"put_ack_latency,omitempty"` // ulnet's addition; nil: none was timed
	GetReply          *latencyDoc       `json:"get_reply_latency,omitempty"`
}

// latencyDoc describes how long operations took.
type latencyDoc struct {
	Timed  uint64  `json:"timed"` // number of operations that were timed
	Mean   float64 `json:"mean_us"`
	Median float64 `json:"median_us"` // median; the value is at most 19 % too high
	P99    float64 `json:"p99_us"`    // 99th percentile
}

// newLatencyDoc returns nil if no operation was timed.
func newLatencyDoc(s *latency.Snapshot) *latencyDoc {
	n := s.Count()
	if n == 0 {
		return nil
	}
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()/100) / 10 }
	return &latencyDoc{n, us(s.Sum / time.Duration(n)), us(s.Quantile(0.5)), us(s.Quantile(0.99))}
}

func newStatsDoc(s node.Status, level int) statsDoc {
	n := s.Stats
	doc := statsDoc{
		MsgsAlloc: n.MsgsAlloc, MsgsMax: n.MsgsMax, Errors: n.Errors,
		Send: n.SendCount, ResponseTimeout: n.ResponseTimeouts, Recv: n.RecvCount, Route: n.RouteCount, Drop: n.DropCount,
		SendLength: n.SendLength, RecvLength: n.RecvLength, RouteLength: n.RouteLength, DropLength: n.DropLength,
		SendRefused: n.SendRefused, DropReasons: n.DropReasons,
	}
	doc.addFailures(n.FailureStats)
	if level >= 1 {
		doc.ConnectionReasons = connectionReasons(s)
		doc.PutAck, doc.GetReply = newLatencyDoc(&s.Latency.PutAck), newLatencyDoc(&s.Latency.GetReply)
	}
	return doc
}

func (d *statsDoc) addFailures(f lnet.FailureStats) {
	d.Resend, d.FailedResends, d.SuccessfulResends = f.ResendCount, f.FailedResends, f.SuccessfulResends
	d.LocalInterrupt, d.LocalDropped, d.LocalAborted = f.LocalInterrupt, f.LocalDropped, f.LocalAborted
	d.LocalNoRoute, d.LocalTimeout, d.LocalError = f.LocalNoRoute, f.LocalTimeout, f.LocalError
	d.RemoteDropped, d.RemoteError, d.RemoteTimeout = f.RemoteDropped, f.RemoteError, f.RemoteTimeout
	d.NetworkTimeout = f.NetworkTimeout
}

// connectionReasons returns how many connections of all NIs were refused or ended, by reason.
func connectionReasons(s node.Status) map[string]uint64 {
	sums := map[string]uint64{}
	for _, ni := range s.NIs {
		for why, n := range ni.LND.Reasons {
			sums[why] += n
		}
	}
	return sums
}
