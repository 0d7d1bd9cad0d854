//go:build ibverbs && cgo && linux

package ibv

/*
#include "glue.h"
*/
import "C"

import (
	"fmt"
	"syscall"

	"ulnet/lnd/verbs"
)

// scratch is the memory of the arguments of ulnet_post, which contain no Go pointers. It
// belongs to a queue pair and grows to the longest list that was posted.
type scratch struct {
	wrs    []C.struct_ulnet_wr
	pieces []C.struct_ibv_sge
}

func (s *scratch) reset() { s.wrs, s.pieces = s.wrs[:0], s.pieces[:0] }

// postSend posts work requests of a connection, all of them or none.
func (q *queuePair) postSend(wrs []verbs.SendWR) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.room(len(wrs)); err != nil {
		return err
	}
	start := q.ring.tail
	q.scratch.reset()
	for i := range wrs {
		if err := q.build(&wrs[i]); err != nil {
			q.ring.cancel(start)
			return err
		}
	}
	return q.hand(start)
}

// room returns nil if n work requests can be posted, else the reason why not. If there is no room
// it polls for completions. The caller holds mu, which room releases for that.
func (q *queuePair) room(n int) error {
	err := q.mayPost(n)
	if err != verbs.ErrFull || n > q.most {
		return err
	}
	q.mu.Unlock()
	q.sends.harvest()
	q.mu.Lock()
	return q.mayPost(n)
}

// mayPost returns nil if n work requests can be posted, else the reason why not. The caller holds mu.
func (q *queuePair) mayPost(n int) error {
	switch {
	case q.closed || q.inError && !q.ready:
		return verbs.ErrClosed
	case !q.ready:
		return verbs.ErrState
	case n > q.ring.free():
		return verbs.ErrFull
	}
	return nil
}

// build makes a work request for C; the caller cancels it if this fails.
func (q *queuePair) build(wr *verbs.SendWR) error {
	if wr.Op != verbs.Send && wr.Op != verbs.Write {
		return fmt.Errorf("a work request of type %v", wr.Op)
	}
	c := q.next(wr.ID, wr.Op, wr.Signaled)
	if wr.Op == verbs.Write {
		c.write, c.remote, c.rkey = 1, C.uint64_t(wr.Remote.Address), C.uint32_t(wr.RKey)
	}
	length, err := q.gather(wr.Pieces, c)
	if err == nil && wr.Op == verbs.Write && length > uint64(wr.Remote.Length) {
		err = fmt.Errorf("%d bytes for a range of %d: %w", length, wr.Remote.Length, verbs.ErrTooLarge)
	}
	return err
}

// next adds a work request to the ring and to the list for C.
func (q *queuePair) next(id uint64, op verbs.Op, signaled bool) *C.struct_ulnet_wr {
	index := uint32(q.ring.tail)
	q.ring.push(id, op, signaled)
	q.scratch.wrs = append(q.scratch.wrs, C.struct_ulnet_wr{id: C.uint64_t(sendID(q.token, index))})
	return &q.scratch.wrs[len(q.scratch.wrs)-1]
}

// gather appends the pieces of the last work request, and returns their length. It copies pieces
// that are in no registered region to memory that is.
func (q *queuePair) gather(pieces []verbs.SGE, c *C.struct_ulnet_wr) (length uint64, err error) {
	if len(pieces) > q.dev.attr.SGEs {
		return 0, fmt.Errorf("%d pieces, the device takes %d: %w", len(pieces), q.dev.attr.SGEs, verbs.ErrTooLarge)
	}
	s := q.ring.at(q.ring.tail - 1)
	copied := 0
	for i := range pieces {
		length += uint64(len(pieces[i].Bytes))
		if pieces[i].MR == nil {
			copied += len(pieces[i].Bytes)
		}
	}
	if length > uint64(q.dev.limit.max_message) || length > longestRegion {
		return 0, verbs.ErrTooLarge
	}
	if copied != 0 {
		if s.copied, err = q.domain.bounce.get(copied); err != nil {
			return 0, err
		}
	}
	room, base := s.copied.bytes, s.copied.base
	for i := range pieces {
		b := pieces[i].Bytes
		switch {
		case len(b) == 0:
		case pieces[i].MR == nil:
			n := copy(room, b)
			q.piece(c, base, n, s.copied.key)
			room, base = room[n:], base+uint64(n)
		default:
			if err := q.registered(s, c, pieces[i].MR, b); err != nil {
				return 0, err
			}
		}
	}
	return length, nil
}

// registered adds a piece of a region, which is held until the work request is done.
func (q *queuePair) registered(s *sent, c *C.struct_ulnet_wr, mr verbs.MR, b []byte) error {
	r, ok := mr.(*region)
	if !ok || r.domain != q.domain {
		return errForeign
	}
	base, key, l, err := r.find(b)
	if err != nil {
		return err
	}
	s.leases = append(s.leases, l)
	q.piece(c, base, len(b), key)
	return nil
}

// piece adds a piece to a work request, or makes the last one longer.
func (q *queuePair) piece(c *C.struct_ulnet_wr, base uint64, n int, key uint32) {
	if last := len(q.scratch.pieces) - 1; c.pieces > 0 {
		p := &q.scratch.pieces[last]
		if uint32(p.lkey) == key && uint64(p.addr)+uint64(p.length) == base {
			p.length += C.uint32_t(n)
			return
		}
	}
	q.scratch.pieces = append(q.scratch.pieces, C.struct_ibv_sge{addr: C.uint64_t(base), length: C.uint32_t(n), lkey: C.uint32_t(key)})
	c.pieces++
}

// noPiece is the list of pieces of messages without bytes.
var noPiece C.struct_ibv_sge

// hand posts the work requests that were built since start to the device. After the device
// has refused one, no more are posted to it: the following ones complete as flushed, in
// order.
func (q *queuePair) hand(start uint64) error {
	s := &q.scratch
	done, pieces := 0, 0
	for done < len(s.wrs) && !q.unsent {
		list := s.wrs[done:min(done+C.ULNET_BATCH, len(s.wrs))]
		first := &noPiece
		if pieces < len(s.pieces) {
			first = &s.pieces[pieces]
		}
		rc := C.ulnet_post(q.qp, &list[0], first, C.int(len(list)))
		n, errno := int(rc>>32), syscall.Errno(uint32(rc))
		for i := range list[:n] {
			pieces += int(list[i].pieces)
		}
		done += n
		if errno == 0 {
			continue
		}
		if done == 0 && !q.inError {
			q.ring.cancel(start)
			return makeError("post work requests", errno)
		}
		q.unsent = true
		q.sends.do(func() { q.failed(verbs.General) })
	}
	if done < len(s.wrs) {
		q.ring.settle(start+uint64(uint32(s.wrs[done].id)-uint32(start)), verbs.Flushed)
		q.sends.do(q.tellSettled)
	}
	return nil
}
