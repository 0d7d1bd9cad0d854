package history

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Bounds of the violations that a checker returns.
const (
	maxViolations = 20
	maxRecords    = 8
)

// Violation is one case in which a rule was broken.
type Violation struct {
	Rule    string   // name of the checker
	Why     string   // what is wrong, as a sentence
	Records []Record // the records that show the violation, in their order
}

// String returns the sentence and the records, a line each.
func (v Violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", v.Rule, v.Why)
	for _, r := range v.Records {
		b.WriteString("\n  " + r.String())
	}
	return b.String()
}

// findings collects the violations of one rule.
type findings struct {
	rule string
	log  *Log
	list []Violation
}

func (f *findings) full() bool { return len(f.list) >= maxViolations }

// add adds a violation. records are the indexes of the records that prove it; an index of -1 is
// ignored.
func (f *findings) add(records []int32, format string, args ...any) {
	if f.full() {
		return
	}
	records = slices.DeleteFunc(slices.Clone(records), func(i int32) bool { return i < 0 })
	slices.Sort(records)
	records = slices.Compact(records)
	v := Violation{Rule: f.rule, Why: fmt.Sprintf(format, args...)}
	for _, i := range records[:min(len(records), maxRecords)] {
		v.Records = append(v.Records, f.log.At(int(i)))
	}
	f.list = append(f.list, v)
}

// pick returns the indexes of records of the given kinds.
func pick(l *Log, kinds ...Kind) []int32 {
	var list []int32
	for i := range l.len {
		if slices.Contains(kinds, l.entry(i).kind) {
			list = append(list, int32(i))
		}
	}
	return list
}

// order sorts records with the function compare, and keeps equal records in the order of the
// log.
func (l *Log) order(list []int32, compare func(a, b *entry) int) {
	slices.SortFunc(list, func(a, b int32) int {
		return cmp.Or(compare(l.entry(int(a)), l.entry(int(b))), cmp.Compare(a, b))
	})
}

// groups yields the stretches of equal records of a sorted list.
func (l *Log) groups(list []int32, compare func(a, b *entry) int) iter.Seq[[]int32] {
	return func(yield func([]int32) bool) {
		for len(list) > 0 {
			n := 1
			for n < len(list) && compare(l.entry(int(list[0])), l.entry(int(list[n]))) == 0 {
				n++
			}
			if !yield(list[:n]) {
				return
			}
			list = list[n:]
		}
	}
}

// The functions by which entries and records are sorted: each compares two of them.
func byListener(a, b *entry) int {
	return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.incarnation, b.incarnation))
}

func bySubject(a, b *entry) int {
	return cmp.Or(byListener(a, b), cmp.Compare(a.subject, b.subject))
}

func byMessage(a, b *entry) int {
	return cmp.Or(cmp.Compare(a.sender(), b.sender()), cmp.Compare(a.value, b.value))
}

func byArrival(a, b *entry) int {
	return cmp.Or(byMessage(a, b), byListener(a, b))
}

// sender is the sender of the message of a Send, Delivery, Completion or Unreached.
func (e *entry) sender() int32 {
	if e.kind == Delivery {
		return int32(e.subject)
	}
	return int32(e.node)
}
