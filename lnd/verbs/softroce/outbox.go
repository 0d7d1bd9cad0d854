package softroce

import (
	"sync"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/softroce/wire"
)

// outbox is the memory of a step: its output, and the datagrams made from the output.
type outbox struct {
	out    rcOutput
	frame  framer
	bursts []wire.Burst
	jobs   [2]upcalls
	split  [2][]verbs.Completion
}

// upcalls are the upcalls of a completion queue that have to be made.
type upcalls struct {
	cq   *cq
	list []verbs.Completion
	last *conn
}

// run makes the upcalls that the step has claimed. No lock is held.
func (b *outbox) run() {
	for i := range b.jobs {
		if j := &b.jobs[i]; j.cq != nil {
			j.cq.run(j.list, j.last)
			*j = upcalls{}
		}
	}
}

// claimed reports whether there are upcalls to be made.
func (b *outbox) claimed() bool { return b.jobs[0].cq != nil || b.jobs[1].cq != nil }

func (b *outbox) reset() {
	b.out.Reset()
	b.frame.Reset()
}

// Bounds of the memory that is kept for later steps: an outbox with more than keptBytes bytes or
// keptPackets packets is not kept, and at most keptBoxes outboxes are kept.
const (
	keptBytes   = 512 << 10
	keptPackets = 1024
	keptBoxes   = 16
)

// outboxes has memory for steps. Safe for concurrent use.
type outboxes struct {
	mu   sync.Mutex // guards the list free
	free []*outbox
}

func (o *outboxes) take() *outbox {
	o.mu.Lock()
	defer o.mu.Unlock()
	if last := len(o.free) - 1; last >= 0 {
		b := o.free[last]
		o.free = o.free[:last]
		return b
	}
	return new(outbox)
}

func (o *outboxes) put(b *outbox) {
	b.reset()
	if cap(b.frame.bytes) > keptBytes || cap(b.out.Packets) > keptPackets {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.free) < keptBoxes {
		o.free = append(o.free, b)
	}
}
