package selftest

import (
	"ulnet/lnd"
	"ulnet/lnet/selftest/engine"
	"ulnet/lnet/selftest/wire"
	"ulnet/portals"
)

// answer is memory for the reply to an RPC of this node. Later RPCs use it again.
type answer struct {
	call     uint64 // number of the RPC
	data     [wire.MessageSize]byte
	segments [1]lnd.Segment // the array data, as the segments of an MD
}

// mostAnswers is how many answers are kept for later RPCs.
const mostAnswers = 4096

// newAnswer returns memory for the reply to an RPC.
func (a *Agent) newAnswer(call uint64) *answer {
	a.mu.Lock()
	var r *answer
	if n := len(a.answered); n > 0 {
		r, a.answered = a.answered[n-1], a.answered[:n-1]
	}
	a.mu.Unlock()
	if r == nil {
		r = new(answer)
		r.segments[0] = r.data[:]
	}
	r.call = call
	return r
}

// replyArrived handles the events of an answer.
func (a *Agent) replyArrived(e *portals.Event) {
	if e.Kind == portals.EventPut {
		r := e.UserPtr.(*answer)
		a.runner.Do(engine.Input{Kind: engine.Replied, ID: r.call, Data: r.data[:e.MLength], Failed: e.Err != nil})
	}
}

// forget forgets the memory of an RPC whose reply and data have arrived. The reply was read, and its
// MD has unlinked itself, so that another RPC can use the answer.
func (a *Agent) forget(call uint64) {
	a.mu.Lock()
	m := a.posted[call]
	delete(a.posted, call)
	if m.answer != nil && len(a.answered) < mostAnswers {
		a.answered = append(a.answered, m.answer)
	}
	a.mu.Unlock()
	a.unlink(memory{bulk: m.bulk})
}
