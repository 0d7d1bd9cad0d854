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

// BenchRequest says what to measure.
type BenchRequest struct {
	Group     string `json:"group"`
	Count     int    `json:"count"`     // of messages
	Size      int    `json:"size"`      // of each in bytes
	InFlight  int    `json:"in_flight"` // messages at a time; 1: each waits for the one before
	TimeoutMS int64  `json:"timeout_ms"`
}

// BenchResult is what was measured, so far or in all.
type BenchResult struct {
	Group     string `json:"group"`
	Members   int    `json:"members"`
	Multicast bool   `json:"multicast"` // otherwise the payload went down the tree
	Messages  int    `json:"messages"`
	Of        int    `json:"of"`
	Size      int    `json:"size"`
	InFlight  int    `json:"in_flight"`
	ElapsedNS int64  `json:"elapsed_ns"`
	Final     bool   `json:"final"`
	// Released is from the call to the return of a blocking Send, in ns, by percentiles.
	Released *Latency `json:"released_ns,omitempty"`
	// What this node did meanwhile.
	Datagrams uint64 `json:"datagrams"`
	Repairs   uint64 `json:"repairs"`
	Acks      uint64 `json:"acks"`
}

// Latency is times by percentiles, in ns.
type Latency struct {
	Min int64 `json:"min"`
	P50 int64 `json:"p50"`
	P90 int64 `json:"p90"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}

const (
	maxBench = 10_000_000 // messages
	// benchProgress is how often it is said how far a measurement is.
	benchProgress = 500 * time.Millisecond
)

// Bench sends messages to a group, and measures how long it takes until all have
// them. It reports how far it is, and in the end what it measured. Errors are those of
// SendRequest; EINVAL: numbers that cannot be.
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

// benchmark is a measurement that runs.
type benchmark struct {
	group   *rmcast.Group
	request BenchRequest
	report  func(Step) error
	before  rmcast.Stats
	began   time.Time
	took    []int64 // owned by the goroutine that sees messages released, until it ends
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

// counts tells how far it is.
func (b *benchmark) counts(messages int) *BenchResult {
	r, status := &b.request, b.group.Status()
	now := &status.Stats
	return &BenchResult{
		Group: r.Group, Members: len(status.Members), Multicast: status.Multicast, Messages: messages, Of: r.Count, Size: r.Size,
		InFlight: r.InFlight, ElapsedNS: time.Since(b.began).Nanoseconds(), Datagrams: now.Datagrams - b.before.Datagrams,
		Repairs: now.Repairs - b.before.Repairs, Acks: now.Acks - b.before.Acks,
	}
}

// latencyOf returns percentiles by the nearest rank.
func latencyOf(ns []int64) *Latency {
	if len(ns) == 0 {
		return nil
	}
	slices.Sort(ns)
	at := func(percent int) int64 { return ns[(len(ns)*percent+99)/100-1] }
	return &Latency{ns[0], at(50), at(90), at(99), ns[len(ns)-1]}
}
