package quick

import (
	"slices"
	"time"

	"ulnet/lnet/nid"
	"ulnet/lnet/selftest/wire"
)

// Result is what was measured.
type Result struct {
	Service     string        `json:"service"`        // "brw" or "ping"
	Op          string        `json:"op,omitempty"`   // BRW: "read" or "write"
	Size        int           `json:"size,omitempty"` // BRW: bytes of each RPC
	Concurrency int           `json:"concurrency"`    // number of RPCs that each client has under way at a time
	Rounds      int           `json:"rounds"`         // number of rounds, in each of which the pairs share no node
	Round       time.Duration `json:"round_ns"`       // length of a round
	From        []string      `json:"from"`           // clients: the rows of the matrix
	To          []string      `json:"to"`             // servers: the columns
	Pairs       []Pair        `json:"pairs"`          // the pairs that were measured, by row and column
	index       map[pair]int  // index of each pair in Pairs
}

// Pair is what was measured of one client and one server.
type Pair struct {
	From      string  `json:"from"`             // the client
	To        string  `json:"to"`               // the server
	Failed    string  `json:"failed,omitempty"` // why no rate was measured
	RPCs      uint64  `json:"rpcs"`             // number of RPCs that were sent
	Errors    uint64  `json:"errors"`           // number of RPCs that failed, or whose data were wrong
	Rate      float64 `json:"rate"`             // RPCs a second, while the most units ran: each unit of a client ends at its first error
	Bandwidth float64 `json:"bandwidth"`        // bytes of bulk data a second
	Latency   Latency `json:"latency"`          // time that an RPC takes

	pair pair
}

// Latency has quantiles of the time that an RPC takes. If the client is the node of the console's
// process or daemon (Single), each sample is one RPC; a time is accurate to 1/32 of its value. The
// console cannot see single RPCs of other clients: each sample is then the mean time of an RPC in one
// interval of at least 100 ms. By Little's law that is the concurrency times the interval's length,
// divided by its RPCs.
type Latency struct {
	Mean   time.Duration `json:"mean_ns"` // mean over all RPCs
	P50    time.Duration `json:"p50_ns"`  // median of the samples
	P90    time.Duration `json:"p90_ns"`  // not exceeded by 90 % of the samples
	P99    time.Duration `json:"p99_ns"`  // not exceeded by 99 % of the samples
	Max    time.Duration `json:"max_ns"`  // the slowest sample
	Single bool          `json:"single"`  // samples are RPCs; false: intervals
}

// OK reports whether the pair was measured without an error.
func (p *Pair) OK() bool { return p.Failed == "" && p.Errors == 0 }

// result returns an empty result.
func (m *measurement) result(rounds int) *Result {
	r := &Result{
		Service: m.Service.String(), Concurrency: m.Concurrency, Rounds: rounds, Round: m.round,
		From: names(m.From), To: names(m.To), index: map[pair]int{},
	}
	if m.Service == wire.BRWService {
		r.Op, r.Size = m.BRW.Op.String(), int(m.BRW.Length)
	}
	return r
}

func names(ids []nid.ProcessID) (list []string) {
	for _, id := range ids {
		list = append(list, id.NID.String())
	}
	return list
}

// add adds pairs, and keeps all in the order of the matrix.
func (r *Result) add(pairs []Pair) {
	r.Pairs = append(r.Pairs, pairs...)
	slices.SortFunc(r.Pairs, func(a, b Pair) int {
		return (a.pair.from-b.pair.from)*len(r.To) + a.pair.to - b.pair.to
	})
	for i := range r.Pairs {
		r.index[r.Pairs[i].pair] = i
	}
}

// at returns a pair, or nil if it was not measured.
func (r *Result) at(from, to int) *Pair {
	if i, ok := r.index[pair{from, to}]; ok {
		return &r.Pairs[i]
	}
	return nil
}

// OK reports whether all pairs were measured without an error.
func (r *Result) OK() bool {
	return !slices.ContainsFunc(r.Pairs, func(p Pair) bool { return !p.OK() })
}
