//go:build ibverbs && cgo && linux

package ibv

/*
#include "glue.h"
*/
import "C"

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"ulnet/lnd/verbs"
)

const (
	// linger is how long a queue pair is kept in the error state, so that its receives complete.
	// Destroying it earlier would lose buffers: the library drops the completions of a queue pair
	// with it, and the pool would not get these buffers back.
	linger = 50 * time.Millisecond
	// flushTimeout is how long the device may take to flush the posted work requests. If it takes
	// longer, the queue pair is destroyed.
	flushTimeout = 5 * time.Second
)

// queuePair is what queue pairs of connections and of datagrams have in common.
type queuePair struct {
	dev    *device
	domain *domain
	sends  *queue
	recvs  *queue
	pool   *pool
	token  uint32
	recvID uint64
	most   int // most work requests posted at a time
	failed func(verbs.Status)
	ud     *datagrams // state for datagrams; nil for a connection

	id  *C.struct_rdma_cm_id // guarded by the lock of the device; nil when it is gone
	qp  *C.struct_ibv_qp
	qpn uint32

	quiet atomic.Bool // whether received messages are dropped

	mu      sync.Mutex // guards all fields below
	ring    ring
	scratch scratch
	ready   bool // whether work requests may be posted
	inError bool // posted work requests complete as flushed
	unsent  bool // the device does not take work requests any more
	closed  bool
	ending  bool
	end     func()
	late    timer // timer of the flushTimeout
}

// newPair makes a queue pair of an id that is bound to the device. The caller holds the
// device's lock and destroys the id if this fails.
func (d *device) newPair(id *C.struct_rdma_cm_id, token uint32, cfg *verbs.QPConfig, ud *datagrams, failed func(verbs.Status),
) (*queuePair, error) {
	q := &queuePair{dev: d, token: token, recvID: cfg.ID, most: cfg.MaxSends, ud: ud, failed: failed, id: id}
	var ok [4]bool
	q.domain, ok[0] = cfg.PD.(*domain)
	q.sends, ok[1] = cfg.Sends.(*queue)
	q.recvs, ok[2] = cfg.Recvs.(*queue)
	q.pool, ok[3] = cfg.Pool.(*pool)
	if ok != [4]bool{true, true, true, true} || q.domain.dev != d || q.sends.dev != d || q.recvs.dev != d || q.pool.domain != q.domain {
		return nil, errForeign
	}
	if q.most < 1 || uint64(q.most) > uint64(d.limit.max_sends) {
		return nil, fmt.Errorf("a queue pair for %d work requests, the device takes 1 to %d", q.most, d.limit.max_sends)
	}
	q.ring = newRing(q.most, &q.domain.bounce)
	if err := q.enter(); err != nil {
		return nil, err
	}
	isUD := C.int(0)
	if ud != nil {
		isUD = 1
	}
	rc := C.ulnet_create_qp(id, q.domain.pd, q.sends.cq, q.recvs.cq, q.pool.srq, C.uint32_t(q.most), C.uint32_t(d.attr.SGEs), isUD)
	if rc != 0 {
		q.leave()
		return nil, makeError("make a queue pair", errno(rc))
	}
	q.qp, q.qpn = id.qp, uint32(id.qp.qp_num)
	d.pairs.Add(1)
	d.table.Lock()
	d.byToken[token], d.byQPN[q.qpn] = q, q
	d.table.Unlock()
	return q, nil
}

// enter counts the queue pair as a user of its domain, queues and pool; leave undoes it.
func (q *queuePair) enter() error {
	if !q.domain.enter() {
		return verbs.ErrClosed
	}
	if !q.pool.enter() {
		q.domain.leave()
		return verbs.ErrClosed
	}
	err := q.sends.enter(q.most, nil)
	if err == nil {
		if err = q.recvs.enter(0, q.pool); err != nil {
			q.sends.leave(q.most, nil)
		}
	}
	if err != nil {
		q.pool.leave()
		q.domain.leave()
	}
	return err
}

func (q *queuePair) leave() {
	q.sends.leave(q.most, nil)
	q.recvs.leave(0, q.pool)
	q.pool.leave()
	q.domain.leave()
}

// discard destroys a queue pair to which nothing was posted. The caller holds the device's
// lock.
func (q *queuePair) discard() {
	q.destroy()
	q.leave()
	q.dev.pairs.Done()
}

// destroy ends the queue pair at the device, but not its id. The caller holds the device's lock.
// After that the device does not touch the memory of its work requests.
func (q *queuePair) destroy() {
	C.rdma_destroy_qp(q.id)
	d := q.dev
	d.table.Lock()
	delete(d.byToken, q.token)
	delete(d.byQPN, q.qpn)
	d.table.Unlock()
}

// openPairs counts the queue pairs of a CQ that are not closed.
func (d *device) openPairs(cq *queue) (n int) {
	d.table.RLock()
	defer d.table.RUnlock()
	for _, q := range d.byToken {
		if q.sends == cq || q.recvs == cq {
			q.mu.Lock()
			if !q.closed {
				n++
			}
			q.mu.Unlock()
		}
	}
	return n
}

// setReady allows posting of work requests.
func (q *queuePair) setReady() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ready = true
}

// setError records that the queue pair is in the error state, or is about to be.
func (q *queuePair) setError() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.inError = true
}
