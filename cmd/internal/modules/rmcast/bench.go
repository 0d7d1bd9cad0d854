package rmcast

import (
	"context"
	"slices"
	"syscall"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/scoll/rmcast"
)

// BenchRequest describes a measurement.
type BenchRequest struct {
	Group     string `json:"group"`      // name of the group
	Count     int    `json:"count"`      // number of messages
	Size      int    `json:"size"`       // bytes of each message
	InFlight  int    `json:"in_flight"`  // messages in flight; 1: each waits for the one before
	TimeoutMS int64  `json:"timeout_ms"` // time limit for becoming a member; 0: default
}

// BenchResult is a measurement, intermediate or final.
type BenchResult struct {
	Group     string `json:"group"`      // name of the group
	Members   int    `json:"members"`    // number of members of the group
	Multicast bool   `json:"multicast"`  // payload goes by multicast; false: down the tree
	Messages  int    `json:"messages"`   // number of messages released so far
	Of        int    `json:"of"`         // number of messages to be sent in all
	Size      int    `json:"size"`       // bytes of each message
	InFlight  int    `json:"in_flight"`  // number of messages in flight
	ElapsedNS int64  `json:"elapsed_ns"` // time since the first message, in ns
	Final     bool   `json:"final"`      // this is the final result
	// Released are the times from the call to the return of a blocking Send, in ns.
	Released *Latency `json:"released_ns,omitempty"`
	// Datagrams is the number of datagrams that this node sent during the measurement.
	Datagrams uint64 `json:"datagrams"`
	Repairs   uint64 `json:"repairs"` // number of payloads resent by this node
	Acks      uint64 `json:"acks"`    // number of control messages with acknowledgements
}

// Latency has percentiles of the messages' times, in ns.
type Latency struct {
	Min int64 `json:"min"` // shortest time
	P50 int64 `json:"p50"` // median of the times
	P90 int64 `json:"p90"` // 90th percentile of the times
	P99 int64 `json:"p99"` // 99th percentile of the times
	Max int64 `json:"max"` // longest time
}

const (
	maxBench = 10_000_000 // largest number of messages of a measurement
	// benchProgress is the interval between progress reports.
	benchProgress = 500 * time.Millisecond
)

// Bench sends messages to a group, and measures the time until all members have them. It
// reports progress, and the result at the end. Errors are those of Send; EINVAL: numbers out
// of range.
func (m *Module) Bench(ctx context.Context, r BenchRequest, report func(Step) error) error {
	if r.Count < 1 || r.Count > maxBench || r.Size < 0 || r.Size > config.MaxMcast || r.InFlight < 1 || r.InFlight > sendsUnderWay {
		return cli.Errnof(syscall.EINVAL, "want 1 to %d messages of 0 to %d bytes, 1 to %d of them at a time", maxBench, config.MaxMcast, sendsUnderWay)
	}
	group, err := m.ready(ctx, r.Group, r.TimeoutMS)
	if err != nil {
		return err
	}
	b := benchmark{group: group, request: r, report: report, before: group.Stats(), began: time.Now()}
	return b.run(ctx)
}

// benchmark is a running measurement.
type benchmark struct {
	group   *rmcast.Group
	request BenchRequest
	report  func(Step) error
	before  rmcast.Stats
	began   time.Time
	took    []int64 // times of the messages in ns; owned by the goroutine of sending.follow until that ends
}

func (b *benchmark) run(ctx context.Context) error {
	r := &b.request
	s := newSending(ctx, b.group, r.InFlight)
	s.released = func(since time.Time) { b.took = append(b.took, time.Since(since).Nanoseconds()) }
	data, told, sent := make([]byte, r.Size), time.Now(), 0
	var err error
	for ; sent < r.Count && err == nil; sent++ {
		if err = s.send(data); err == nil && time.Since(told) >= benchProgress {
			told = time.Now()
			err = b.report(Step{Counts: b.counts(sent + 1 - len(s.room))})
		}
	}
	if err != nil {
		s.cancel(err)
	}
	_, lost := s.end()
	switch {
	case lost != nil:
		return lost
	case err != nil:
		return err
	}
	last := b.counts(len(b.took))
	last.Final, last.Released = true, latencyOf(b.took)
	return b.report(Step{Counts: last})
}

// counts returns the progress so far.
func (b *benchmark) counts(messages int) *BenchResult {
	r, status := &b.request, b.group.Status()
	now := &status.Stats
	return &BenchResult{
		Group: r.Group, Members: len(status.Members), Multicast: status.Multicast, Messages: messages, Of: r.Count, Size: r.Size,
		InFlight: r.InFlight, ElapsedNS: time.Since(b.began).Nanoseconds(), Datagrams: now.Datagrams - b.before.Datagrams,
		Repairs: now.Repairs - b.before.Repairs, Acks: now.Acks - b.before.Acks,
	}
}

// latencyOf returns percentiles by nearest rank.
func latencyOf(ns []int64) *Latency {
	if len(ns) == 0 {
		return nil
	}
	slices.Sort(ns)
	at := func(percent int) int64 { return ns[(len(ns)*percent+99)/100-1] }
	return &Latency{ns[0], at(50), at(90), at(99), ns[len(ns)-1]}
}
