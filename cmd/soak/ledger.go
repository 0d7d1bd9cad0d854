package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"syscall"

	"ulnet/lnd"
)

// ledger accounts for every operation of every worker, from the journals. Journals of different
// workers may be read in any order, but the entries of each in their own order. A ledger is not
// safe for concurrent use.
//
// Invariants:
//
//   - each operation has exactly one SEND event and one last event, and none
//     after that
//   - an ACK or REPLY comes at most once, only if it was asked for, not
//     after a failed SEND, and reports the size that was asked for
//   - a PUT arrives at most once, as it was sent, and exactly once if it was
//     acknowledged; a GET is served at most once
//   - if a message has several paths, LNet sends it again when a connection was reset
//     that may have carried it (docs/routing.md, "it may have arrived, and then it arrives again"):
//     then it comes at most once for each try, and the messages of a worker are not repeated more
//     often than the worker has sent messages again. LNet tells of no single message how often it
//     was sent
//   - an operation that begins after the time calm has succeeded
//
// Workers check the content of messages.
type ledger struct {
	repeats      func(from, to uint8) bool // reports whether LNet may repeat a message from one worker to another
	calm         int64                     // time, as record.At; operations that begin later must succeed
	incarnations map[incarnationID]*incarnation
	taken        int // number of records so far
	recent
}

// incarnationID identifies an incarnation of a worker.
type incarnationID struct {
	Worker      uint8
	Incarnation uint16
}

// incarnation has the operations that an incarnation of a worker started.
type incarnation struct {
	ops         []entry // operations of the incarnation, by Seq
	killed      bool
	resends     uint64 // how many messages the incarnation's own node has counted as sent again; unknown if it was killed
	begun, over int    // numbers of operations that have begun, and that have ended, for progress reports
}

// entry is the state of one operation.
type entry struct {
	seen   [served + 1]uint8 // number of records of each kind, without failed arrivals
	broken uint8             // number of arrivals that failed
	op     opKind
	target uint8
	sentAs syscall.Errno // errno of the SEND event
	answer syscall.Errno // errno of the ACK or REPLY event
	endAs  syscall.Errno // errno of the UNLINK event, if that was the last event
	size   uint32
	got    uint32 // number of bytes of the PUT that arrived at the target
	began  int64  // time at which the operation began: At of its record started
}

func newLedger() *ledger {
	return &ledger{incarnations: make(map[incarnationID]*incarnation), calm: math.MaxInt64, repeats: func(uint8, uint8) bool { return false }}
}

// incarnation returns the data of an incarnation, and creates them if there are none.
func (l *ledger) incarnation(id incarnationID) *incarnation {
	if l.incarnations[id] == nil {
		l.incarnations[id] = new(incarnation)
	}
	return l.incarnations[id]
}

// entry returns the entry of an operation. The target's journal may mention the operation before
// the initiator's does.
func (l *ledger) entry(id opID) (*entry, error) {
	lf := l.incarnation(incarnationID{id.Worker, id.Incarnation})
	const ahead = 1 << 20 // a target's journal is never this many operations ahead of the initiator's
	if int(id.Seq) > len(lf.ops)+ahead {
		return nil, fmt.Errorf("operation %v was never started", id)
	}
	for int(id.Seq) >= len(lf.ops) {
		lf.ops = append(lf.ops, entry{})
	}
	return &lf.ops[id.Seq], nil
}

// add checks and stores a record. An error is a violation.
func (l *ledger) add(r record) error {
	l.keep(r)
	l.taken++
	e, err := l.entry(r.ID)
	if err != nil {
		return err
	}
	err = e.add(r)
	if comes := r.Kind == arrived || r.Kind == served; err == nil && comes && e.again() > 0 && !l.repeats(r.ID.Worker, r.Target) {
		err = fmt.Errorf("%v twice, by the only path", r.Kind)
	}
	if err != nil {
		return fmt.Errorf("%w: %v", err, r)
	}
	l.count(r)
	return nil
}

func (l *ledger) count(r record) {
	lf := l.incarnations[incarnationID{r.ID.Worker, r.ID.Incarnation}]
	switch r.Kind {
	case started:
		lf.begun++
	case ended:
		lf.over++
	}
}

// add records an event of an operation.
func (e *entry) add(r record) error {
	comes := r.Kind == arrived || r.Kind == served
	if comes && r.Errno != 0 {
		e.broken++
		return nil
	}
	switch e.seen[r.Kind]++; {
	case !comes && e.seen[r.Kind] > 1:
		return fmt.Errorf("%v twice", r.Kind)
	case comes && e.seen[r.Kind] > lnd.DefaultRetryCount+1:
		return fmt.Errorf("%v %d times", r.Kind, e.seen[r.Kind])
	}
	if r.Kind > started && r.Kind < arrived && (e.seen[started] == 0 || e.seen[ended] > 0 && r.Kind != ended) {
		return fmt.Errorf("%v before the beginning or after the end", r.Kind)
	}
	switch r.Kind {
	case started:
		e.op, e.target, e.size, e.began = r.Op, r.Target, r.Size, r.At
	case sent:
		e.sentAs = r.Errno
	case answered:
		return e.answered(r)
	case ended:
		e.endAs = r.Errno
		if e.seen[sent] == 0 {
			return errors.New("ended without SEND event")
		}
	case arrived:
		e.got = r.Size
	}
	return nil
}

func (e *entry) answered(r record) error {
	e.answer = r.Errno
	switch {
	case e.op == opPut:
		return errors.New("answer to what asks for none")
	case e.seen[sent] > 0 && e.sentAs != 0:
		return errors.New("answer after a failed SEND event")
	case r.Errno == 0 && r.Size != e.size:
		return fmt.Errorf("answer speaks of %d bytes, not %d", r.Size, e.size)
	}
	return nil
}

// kill records that an incarnation of a worker was killed.
func (l *ledger) kill(id incarnationID) { l.incarnation(id).killed = true }

// finish makes the checks that need all journals.
func (l *ledger) finish() error {
	for _, id := range slices.SortedFunc(maps.Keys(l.incarnations), compareIncarnations) {
		lf := l.incarnations[id]
		for seq := range lf.ops {
			err := lf.ops[seq].finish(lf.killed)
			if e := &lf.ops[seq]; err == nil && e.began >= l.calm && !e.flawless() {
				err = errors.New("did not succeed, and nothing was in its way")
			}
			if err != nil {
				return fmt.Errorf("%w: operation %v", err, opID{id.Worker, id.Incarnation, uint32(seq)})
			}
		}
		if again := lf.again(); !lf.killed && again > lf.resends {
			return fmt.Errorf("%d messages arrived again, and %d were sent again: worker %d, incarnation %d", again, lf.resends, id.Worker, id.Incarnation)
		}
	}
	return nil
}

// again returns the number of arrivals of messages that had arrived before.
func (lf *incarnation) again() (n uint64) {
	for i := range lf.ops {
		n += uint64(lf.ops[i].again())
	}
	return n
}

func compareIncarnations(a, b incarnationID) int {
	return (int(a.Worker)-int(b.Worker))<<16 + int(a.Incarnation) - int(b.Incarnation)
}

func (e *entry) finish(killed bool) error {
	acknowledged := e.op == opPutAck && e.seen[answered] == 1 && e.answer == 0
	switch {
	case e.seen[started] == 0:
		return errors.New("arrived and was never started")
	case e.seen[ended] == 0 && !killed:
		return errors.New("has no last event")
	case e.op == opGet && e.seen[arrived] > 0 || e.op != opGet && e.seen[served] > 0:
		return fmt.Errorf("%v arrived as something else", e.op)
	case acknowledged && e.seen[arrived] == 0:
		return errors.New("was acknowledged and never arrived")
	case e.seen[arrived] > 0 && e.got != e.size:
		return fmt.Errorf("%d bytes arrived of %d", e.got, e.size)
	}
	return nil
}

// again returns how often the message arrived after the first time.
func (e *entry) again() uint8 { return max(e.seen[arrived]+e.seen[served], 1) - 1 }

// flawless reports whether the operation has all its events, without an error.
func (e *entry) flawless() bool {
	answers, arrivals := uint8(1), arrived
	if e.op == opPut {
		answers = 0
	}
	if e.op == opGet {
		arrivals = served
	}
	return e.seen[sent] == 1 && e.sentAs == 0 && e.seen[answered] == answers && e.answer == 0 && e.seen[arrivals] == 1
}

// recent is a ring buffer of the latest records, which are evidence after a violation.
type recent struct {
	ring []record
	next int
}

const recentRecords = 1 << 16

func (r *recent) keep(rec record) {
	if len(r.ring) < recentRecords {
		r.ring = append(r.ring, rec)
		return
	}
	r.ring[r.next] = rec
	r.next = (r.next + 1) % len(r.ring)
}

// records returns the records, oldest first.
func (r *recent) records() []record {
	return slices.Concat(r.ring[r.next:], r.ring[:r.next])
}
