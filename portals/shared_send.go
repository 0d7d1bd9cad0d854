package portals

import (
	"sync"
	"sync/atomic"

	"ulnet/lnet/wire"
)

// sharedSend makes one SEND event for all PUTs of a batch with OneSend. It has the batch's only reference
// to the MD.
type sharedSend struct {
	left atomic.Int32 // number of PUTs that have not ended

	mu  sync.Mutex
	err error      // error of the first PUT that failed; guarded by mu
	o   *operation // its field event is the SEND event; mu guards that event until left is 0
}

// share makes the SEND event of a batch that has begun.
func (t *Table) share(b *batch, r *PutBatchRequest) {
	o := t.sending(&b.puts[0], wire.Put, &r.Puts[0])
	o.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle()}) // with NoHandle, complete awaits no ACK for this operation
	s := t.shared.Get().(*sharedSend)
	s.o = o
	s.left.Store(int32(len(b.puts)))
	o.event.OpPtr = r.OpPtr
	sum := 0 // at most MaxBatch times 1 MiB, so it fits in RLength
	for i := range b.puts {
		b.puts[i].shared = s
		sum += b.puts[i].length
	}
	o.event.RLength, o.event.MLength = uint32(sum), uint32(sum)
}

// failed notes that the PUT that e describes has failed.
func (s *sharedSend) failed(e *Event, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := &s.o.event
	all.MLength -= e.RLength
	if s.err == nil {
		s.err = err
		all.Target, all.Portal, all.MatchBits, all.HdrData, all.Offset = e.Target, e.Portal, e.MatchBits, e.HdrData, e.Offset
	}
}

// ended notes that n PUTs have ended, and delivers the shared SEND event when none is left.
func (t *Table) ended(s *sharedSend, n int) {
	if s.left.Add(-int32(n)) > 0 {
		return
	}
	o, err := s.o, s.err // nothing else uses s any more
	s.o, s.err = nil, nil
	t.shared.Put(s)
	t.complete(o, err)
}

// endShared ends a PUT that has no event of its own.
func (t *Table) endShared(o *operation, err error) {
	s := o.shared
	if err != nil {
		o.md.mu.Lock()
		t.unanswered(o.md, o)
		o.md.mu.Unlock()
		s.failed(&o.event, err)
	}
	t.freeOperation(o)
	t.ended(s, 1)
}
