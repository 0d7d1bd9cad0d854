package analyze

import (
	"cmp"
	"slices"
	"time"

	"ulnet/lnet/nid"
)

// tally counts operations.
type tally struct {
	asked     uint64 // operations, copies included
	copies    uint64 // copies without an answer of their own
	answered  uint64
	failed    uint64
	resent    uint64
	repeated  uint64 // further answers to operations that had an answer
	forwarded uint64 // messages that were seen before on the other side of a router
	latency   histogram
}

// rowKey is the key of a row in a table of tallies. The method other returns the key of the row for all
// keys without a row of their own.
type rowKey[K any] interface {
	comparable
	other() K
}

// kindKey is the key of a row of operations of one kind, service and portal.
type kindKey struct {
	Kind    Kind
	Service string
	Portal  uint32
	Other   bool // all portals without a row of their own
}

func (k kindKey) other() kindKey { return kindKey{Kind: k.Kind, Other: true} }

func (k kindKey) compare(l kindKey) int {
	bit := map[bool]int{true: 1}
	return cmp.Or(cmp.Compare(k.Kind, l.Kind), bit[k.Other]-bit[l.Other], cmp.Compare(k.Service, l.Service), cmp.Compare(k.Portal, l.Portal))
}

// pairKey is the key of a row of operations between two NIDs. The zero key is that of the row for all pairs
// of NIDs without a row of their own.
type pairKey struct{ from, to nid.NID }

func (pairKey) other() pairKey { return pairKey{} }

func (k pairKey) compare(l pairKey) int {
	return cmp.Or(k.from.Compare(l.from), k.to.Compare(l.to))
}

// rows has a bounded number of tallies.
type rows[K rowKey[K]] struct {
	most  int
	byKey map[K]*tally
	keys  []K // in order of appearance
}

func newRows[K rowKey[K]](most int) rows[K] { return rows[K]{most: most, byKey: map[K]*tally{}} }

// row returns the tally of a key. If the key has no row, and there may be no further row, it returns the
// tally for all keys without a row of their own.
func (r *rows[K]) row(k K) *tally {
	if t := r.byKey[k]; t != nil {
		return t
	}
	if len(r.keys) >= r.most {
		k = k.other()
		if t := r.byKey[k]; t != nil {
			return t
		}
	}
	t := new(tally)
	r.byKey[k], r.keys = t, append(r.keys, k)
	return t
}

// sorted returns the keys in order.
func (r *rows[K]) sorted(compare func(a, b K) int) []K {
	return slices.SortedFunc(slices.Values(r.keys), compare)
}

// Counts are numbers of operations.
type Counts struct {
	Asked      uint64  `json:"asked"`               // operations
	Answered   uint64  `json:"answered"`            // operations with an answer
	Failed     uint64  `json:"failed,omitempty"`    // operations that ended without an answer: their payload could not be moved
	Unanswered uint64  `json:"unanswered"`          // operations that wait for an answer at the end of the capture
	Resent     uint64  `json:"resent,omitempty"`    // messages that were sent again, on another connection or between other NIDs
	Copies     uint64  `json:"copies,omitempty"`    // messages seen again on the same connection, without an answer of their own
	Repeated   uint64  `json:"repeated,omitempty"`  // answers to operations that had one
	Forwarded  uint64  `json:"forwarded,omitempty"` // messages that were seen before on the other side of a router
	Latency    Latency `json:"latency"`             // times to the answers
}

// Latency is the distribution of the times to the answers. Min, Mean and Max are exact; percentiles are
// too large by 1/32 at most.
type Latency struct {
	Min  time.Duration `json:"min_ns"`  // the shortest; all fields are 0 if there was no answer
	Mean time.Duration `json:"mean_ns"` // arithmetic mean
	P50  time.Duration `json:"p50_ns"`  // median
	P90  time.Duration `json:"p90_ns"`  // 90th percentile
	P99  time.Duration `json:"p99_ns"`  // 99th percentile
	P999 time.Duration `json:"p999_ns"` // 99.9th percentile
	Max  time.Duration `json:"max_ns"`  // the longest
}

func (t *tally) counts() Counts {
	asked := t.asked - t.copies
	return Counts{
		Asked: asked, Answered: t.answered, Failed: t.failed, Unanswered: asked - t.answered - t.failed,
		Resent: t.resent, Copies: t.copies, Repeated: t.repeated, Forwarded: t.forwarded, Latency: t.latency.summary(),
	}
}
