package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// totals has the outcomes of the operations of one kind.
type totals struct {
	Operations int            `json:"operations"`
	OK         int            `json:"ok"`         // operations that were sent and, if they ask for an answer, answered
	Bytes      uint64         `json:"bytes"`      // number of bytes of these operations
	Failed     map[string]int `json:"failed"`     // number of operations whose SEND failed, by errno
	Unanswered map[string]int `json:"unanswered"` // operations that were sent without getting an answer, by errno
	Killed     int            `json:"killed"`     // number of operations that ended because their process was killed
	Arrived    int            `json:"arrived"`    // number of operations whose message arrived at the target
	Again      int            `json:"again"`      // number of arrivals of messages that had arrived before
	Broken     int            `json:"broken"`     // number of arrivals that failed
}

// unlinked stands in place of an errno for operations that the worker itself has aborted. The worker chooses
// these operations at random.
const unlinked = "unlinked"

// total sums up the outcomes of all operations.
func (l *ledger) total() map[string]*totals {
	all := make(map[string]*totals)
	for kind := range opKinds {
		all[kind.String()] = &totals{Failed: make(map[string]int), Unanswered: make(map[string]int)}
	}
	for _, lf := range l.incarnations {
		for i := range lf.ops {
			if e := &lf.ops[i]; e.seen[started] > 0 {
				all[e.op.String()].add(e)
			}
		}
	}
	return all
}

func (t *totals) add(e *entry) {
	t.Operations++
	t.Arrived += int(e.seen[arrived] + e.seen[served] - e.again())
	t.Again += int(e.again())
	t.Broken += int(e.broken)
	switch {
	case e.op != opPut && e.seen[answered] > 0 && e.answer == 0, e.op == opPut && e.seen[sent] > 0 && e.sentAs == 0:
		t.OK++
		t.Bytes += uint64(e.size)
	case e.seen[sent] > 0 && e.sentAs != 0:
		t.Failed[e.sentAs.Error()]++
	case e.seen[answered] > 0:
		t.Unanswered[e.answer.Error()]++
	case e.seen[ended] > 0 && e.endAs != 0:
		t.Unanswered[e.endAs.Error()]++
	case e.seen[ended] > 0:
		t.Unanswered[unlinked]++
	default:
		t.Killed++
	}
}

// reasons formats counts by errno as text, the most frequent first.
func reasons(counts map[string]int) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%d %s", counts[name], name)
	}
	if len(names) == 0 {
		return "0"
	}
	return strings.Join(names, ", ")
}
