//go:build ibverbs && cgo && linux

package ibv

import "ulnet/lnd/verbs"

// sent is a work request that is posted and not done.
type sent struct {
	id       uint64
	op       verbs.Op
	signaled bool
	leases   []*lease // leases of the regions that the work request names
	copied   slot     // registered memory with copies of those pieces that are in no region
	// settled is set if the device will report no completion of the work request: it was never
	// posted to the device, or the queue pair has been destroyed.
	settled bool
	status  verbs.Status
}

// ring has the work requests of a queue pair in the order of posting, which is also the order of
// completion. The caller holds the lock of the queue pair.
//
// The device reports the completion of every work request, signaled or not: only the completion
// says that the memory of the request is free, and that a queue pair has become idle.
type ring struct {
	bounce     *bounce
	all        []sent
	head, tail uint64 // numbers of the oldest and of the next work request; see at
}

func newRing(most int, b *bounce) ring { return ring{bounce: b, all: make([]sent, most)} }

func (r *ring) length() int { return int(r.tail - r.head) }

// free returns how many more work requests may be posted.
func (r *ring) free() int { return len(r.all) - r.length() }

func (r *ring) at(index uint64) *sent { return &r.all[index%uint64(len(r.all))] }

// push adds a work request. The caller has checked that there is room.
func (r *ring) push(id uint64, op verbs.Op, signaled bool) *sent {
	s := r.at(r.tail)
	*s = sent{id: id, op: op, signaled: signaled, leases: s.leases[:0]}
	r.tail++
	return s
}

// cancel takes back the work requests that were pushed since the ring ended at tail.
func (r *ring) cancel(tail uint64) {
	for r.tail > tail {
		r.tail--
		r.drop(r.at(r.tail))
	}
}

// settle marks the work requests from index on, except those settled before, so that they complete
// with this status and without the device.
func (r *ring) settle(index uint64, status verbs.Status) {
	for ; index < r.tail; index++ {
		if s := r.at(index); !s.settled {
			s.settled, s.status = true, status
		}
	}
}

// complete ends the work request of a completion, and those before it, which the device
// must have done; it appends the completions for the consumer. An index that is not in the
// ring changes nothing.
func (r *ring) complete(index uint32, status verbs.Status, qpn uint32, to []verbs.Completion) []verbs.Completion {
	ahead := index - uint32(r.head)
	if uint64(ahead) >= r.tail-r.head {
		return to
	}
	for last := r.head + uint64(ahead); r.head < last; {
		to = r.pop(verbs.Success, qpn, to)
	}
	to = r.pop(status, qpn, to)
	return r.sweep(qpn, to)
}

// sweep ends the oldest work requests as long as they are settled, and appends their completions.
func (r *ring) sweep(qpn uint32, to []verbs.Completion) []verbs.Completion {
	for r.head < r.tail && r.at(r.head).settled {
		to = r.pop(0, qpn, to)
	}
	return to
}

// pop completes the oldest work request.
func (r *ring) pop(status verbs.Status, qpn uint32, to []verbs.Completion) []verbs.Completion {
	s := r.at(r.head)
	if s.settled {
		status = s.status
	}
	if s.signaled || status != verbs.Success {
		to = append(to, verbs.Completion{ID: s.id, QPN: qpn, Op: s.op, Status: status})
	}
	r.drop(s)
	r.head++
	return to
}

// drop releases the leases and slot of a work request.
func (r *ring) drop(s *sent) {
	for i, l := range s.leases {
		l.release()
		s.leases[i] = nil
	}
	s.leases = s.leases[:0]
	if s.copied.bytes != nil {
		r.bounce.put(s.copied)
		s.copied = slot{}
	}
}
