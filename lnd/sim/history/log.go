package history

import (
	"fmt"
	"iter"
	"math"
	"time"

	"ulnet/lnd/sim"
)

// Log is a history: records in the order of their time, and at the same
// instant in the order in which they were appended. Make one with [New].
type Log struct {
	chunks       [][]entry
	len          int
	last         int64 // time of the last record, in ns
	texts        []string
	number       map[string]uint32 // number of each text in texts
	incarnations map[sim.NodeID]uint32
	clock        func() time.Duration
}

// entry is a record as it is kept: 40 bytes, a text is kept once.
type entry struct {
	at          int64
	value       uint64
	node        sim.NodeID
	subject     sim.NodeID
	incarnation uint32
	text        uint32
	kind        Kind
}

// chunkLen is how many records are allocated at a time: a log grows without
// being copied.
const chunkLen = 1 << 10

// New returns an empty log.
func New() *Log {
	return &Log{texts: []string{""}, number: map[string]uint32{"": 0}, incarnations: map[sim.NodeID]uint32{}}
}

// Len returns the number of records.
func (l *Log) Len() int { return l.len }

// At returns record i, counted from 0.
func (l *Log) At(i int) Record {
	e := l.entry(i)
	return Record{
		At: time.Duration(e.at), Node: e.node, Incarnation: e.incarnation, Kind: e.kind,
		Subject: e.subject, Value: e.value, Text: l.texts[e.text],
	}
}

// All yields the records in their order.
func (l *Log) All() iter.Seq[Record] {
	return func(yield func(Record) bool) {
		for i := range l.len {
			if !yield(l.At(i)) {
				return
			}
		}
	}
}

// Append appends a record, whose time must not be before that of the last record.
func (l *Log) Append(r Record) {
	if int64(r.At) < l.last {
		panic(fmt.Sprintf("history: %q comes after a record of %v", r, time.Duration(l.last)))
	}
	if l.len == math.MaxInt32 {
		panic("history: the log is full")
	}
	l.last = int64(r.At)
	if l.len%chunkLen == 0 {
		l.chunks = append(l.chunks, make([]entry, 0, chunkLen))
	}
	chunk := &l.chunks[len(l.chunks)-1]
	*chunk = append(*chunk, entry{
		at: int64(r.At), value: r.Value, node: r.Node, subject: r.Subject,
		incarnation: r.Incarnation, text: l.intern(r.Text), kind: r.Kind,
	})
	l.len++
}

func (l *Log) intern(text string) uint32 {
	n, ok := l.number[text]
	if !ok {
		n = uint32(len(l.texts))
		l.texts = append(l.texts, text)
		l.number[text] = n
	}
	return n
}

func (l *Log) entry(i int) *entry { return &l.chunks[i/chunkLen][i%chunkLen] }

// Tell appends an event of a node in its present incarnation, as the simulator's OnEvent
// gets it: the event's kind is a [Kind].
func (l *Log) Tell(at time.Duration, node sim.NodeID, ev sim.Event) {
	l.Append(Record{
		At: at, Node: node, Incarnation: l.incarnations[node], Kind: Kind(ev.Kind),
		Subject: ev.Subject, Value: ev.Value, Text: ev.Text,
	})
}
