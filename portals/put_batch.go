package portals

import (
	"syscall"

	"ulnet/lnet"
	"ulnet/lnet/wire"
)

// MaxBatch is the largest number of PUTs of one call of [Table.PutBatch].
const MaxBatch = 1024

// PutBatchRequest says which PUTs to send from one MD.
type PutBatchRequest struct {
	MD MDHandle // handle of the MD with the data of all PUTs, made by MDBind
	// Puts are the PUTs, in the order in which they are sent. Each has its own target, match
	// bits, part of the MD and so on. Its field MD is 0, or MD above.
	Puts    []PutRequest
	OneSend bool // one SEND event follows for all PUTs instead of one for each
	OpPtr   any  // with OneSend: value that the SEND event has
}

// PutBatch sends several PUTs from one MD. It is a loop of [Table.Put] that costs less: it locks the
// MD once, and small PUTs without Timeout, LeaveWithin and Priority to one process, if they are next to each other
// in r.Puts, leave with one write. If each PUT goes to another process, the gain is small. Everything
// that is not said here is as for Put: large PUTs, Timeout, Priority, and the order in which messages
// to one process leave. r.Puts is the caller's again when PutBatch returns.
//
// Either all PUTs begin or none. If one cannot begin, PutBatch returns the error, which names the
// target of that PUT; nothing was sent and no event follows. PUTs that have begun do not depend on
// each other: some may fail while the others arrive.
//
// A SEND event follows for each PUT, and an ACK event for each PUT with Ack that the target answers.
// They have the OpPtr of that PUT. With OneSend a single SEND event follows instead of all others, when
// the last PUT has left or failed:
//
//   - Err is the error of the PUT that failed first, or nil.
//   - Target, Portal, MatchBits, HdrData and Offset are those of that PUT or, without an error, of the
//     first PUT of the batch.
//   - RLength is the sum of the lengths of all PUTs, MLength of those that have left.
//   - OpPtr is that of r. The OpPtr of a PUT is then in its ACK event alone.
//
// A PUT that has failed gets no ACK event, and the SEND event does not say which others have failed.
//
// Each PUT takes one from the MD's threshold, which must have as many left, and each ACK another. The MD
// cannot end before all PUTs have ended. If MDUnlink is called before that, PUTs that wait for credits
// fail with ECANCELED, as after Put.
//
//	EIO     a target was given to lnet.Node.FailNID, which counts one message
//	ENOENT  the MD is gone, attached to an ME, or allows fewer operations
//	EINVAL  no PUT, more than MaxBatch, a PUT with another MD, or one that Put refuses with EINVAL
//	ENOMEM  no more handles
func (t *Table) PutBatch(r PutBatchRequest) error {
	b := t.batches.Get().(*batch)
	if i, err := t.beginBatch(b, &r); err != nil {
		t.freeBatch(b)
		e := &OpError{Op: "PutBatch", Err: err}
		if i < len(r.Puts) {
			e.NID = r.Puts[i].Target.NID
		}
		return e
	}
	for i := 0; i < len(r.Puts); {
		i += t.launchRun(b, r.Puts, i)
	}
	t.freeBatch(b)
	return nil
}

// batch is the memory of one call of PutBatch. It is used again.
type batch struct {
	puts []begun
	run  []lnet.Posting // inline messages that lnet is given together
}

func (t *Table) freeBatch(b *batch) {
	clear(b.puts)
	b.puts = b.puts[:0]
	t.batches.Put(b)
}

// launchRun gives lnet the message of PUT first together with those after it that go to the same process,
// if they can be inline messages. It returns how many PUTs these are.
func (t *Table) launchRun(b *batch, puts []PutRequest, first int) (n int) {
	b.run = b.run[:0]
	for i := first; i < len(puts) && b.follows(puts, first, i); i++ {
		p := &b.puts[i]
		b.run = append(b.run, lnet.Posting{Payload: p.payload(p.md.segments)})
		t.fillInline(&b.run[len(b.run)-1].Inline, p, &puts[i])
	}
	if len(b.run) == 0 {
		t.send(&b.puts[first], wire.Put, &puts[first])
		return 1
	}
	taken := 0
	for more := true; more && taken < len(b.run); {
		n := t.node.PostList(b.run[taken:])
		taken += n
		more = n > 0
	}
	for i := range b.run[taken:] { // PUTs that PostList did not take, which may have to wait
		t.send(&b.puts[first+taken+i], wire.Put, &puts[first+taken+i])
	}
	n = len(b.run)
	clear(b.run)
	return n
}

// follows reports whether PUT i can be an inline message that leaves together with PUT first.
func (b *batch) follows(puts []PutRequest, first, i int) bool {
	return b.puts[i].mayPost(wire.Put, &puts[i]) && puts[i].Target == puts[first].Target && puts[i].Self == puts[first].Self
}

// beginBatch begins all PUTs of a batch. If it cannot, it returns the index of the PUT that is the
// reason, or len(r.Puts).
func (t *Table) beginBatch(b *batch, r *PutBatchRequest) (bad int, err error) {
	n := len(r.Puts)
	if n == 0 || n > MaxBatch {
		return n, syscall.EINVAL
	}
	deadline := false
	for i := range r.Puts {
		p := &r.Puts[i]
		if p.MD != 0 && p.MD != r.MD {
			return i, syscall.EINVAL
		}
		if err := t.check(wire.Put, p); err != nil {
			return i, err
		}
		deadline = deadline || p.Timeout > 0
	}
	d := t.lockMD(r.MD)
	if d == nil {
		return n, syscall.ENOENT
	}
	if bad, err = t.prepareBatch(b, d, r); err != nil {
		d.mu.Unlock()
		return bad, err
	}
	tracked := false
	for i := range b.puts {
		tracked = t.expect(&b.puts[i], wire.Put, &r.Puts[i]) || tracked
	}
	d.mu.Unlock()
	if r.OneSend {
		t.share(b, r)
	}
	t.watchAnswers(tracked, deadline)
	return 0, nil
}

// prepareBatch prepares all PUTs of a batch and counts their operations, or changes nothing. The caller
// holds d.mu.
func (t *Table) prepareBatch(b *batch, d *md, r *PutBatchRequest) (bad int, err error) {
	n := len(r.Puts)
	if !d.allows(n) {
		return n, syscall.ENOENT
	}
	for i := range r.Puts {
		b.puts = append(b.puts, begun{})
		if err := t.prepare(&b.puts[i], d, wire.Put, &r.Puts[i], noLimit); err != nil {
			for _, p := range b.puts[:i] {
				if p.call != nil {
					t.end(d, p.call)
				}
			}
			return i, err
		}
	}
	if d.threshold > 0 {
		d.threshold -= n
	}
	if r.OneSend {
		n = 1 // the PUTs share one reference to the MD: that of their common SEND event
	}
	d.refs += int32(n)
	return 0, nil
}
