package scoll

import (
	"sync"
	"sync/atomic"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/scoll/engine"
)

// due is the queue of callbacks to be called for effects. The goroutine that steps the machine
// calls them after it has applied the effects of the step. While a callback runs, other
// goroutines can deliver messages and make the calls that follow (SC-49): the machine itself
// keeps callbacks in the required order. If a goroutine has also applied the effects of other
// goroutines' deliveries, it has several calls to make, and a worker helps it. The calls of one
// delivery are made one after the other, which saves goroutine switches.
type due struct {
	applying atomic.Bool // effects are being applied; calls are made after that
	left     atomic.Bool // a goroutine left the effects of its delivery to the goroutine that is applying
	count    atomic.Int64
	helper   func() // the method Agent.helps as a func value, allocated once
	clock    machine.Clock
	slow     atomic.Uint64 // number of slow callbacks
	warns    atomic.Bool   // unsaid has entries that are to be logged

	mu     sync.Mutex
	idle   chan struct{} // closed when the last call has ended after the agent closed
	queue  []*call       // the calls to be made are those from index head on; guarded by mu, like all below
	head   int
	free   []*call
	making int  // number of goroutines that make calls, including workers
	active int  // number of workers, counted before they start
	asked  bool // a worker was started to help and has not begun yet
	closed bool

	running []*call // callbacks in progress, see watchdog.go; guarded by mu, like all below
	slowOf  map[ServiceID]*slowOf
	unsaid  []slowCall // slow callbacks that are not logged yet
}

// call is a callback to be called, with its arguments.
type call struct {
	kind  engine.EffectKind
	r     *Request
	id    engine.RequestID
	reply Reply    // for CallReply: argument of the callback
	maps  *Service // for CallMap: service that maps the group to its members
	oob   OOBID    // for CallMap: the group to be mapped
	made  *Group   // for the effect Created: the group
	err   error    // for the effect Created: why the group was not created
	began time.Duration
	of    ServiceID // the service that is called, while the callback runs
	slow  bool      // the watchdog has counted the callback as slow
}

// keptCalls bounds the calls whose memory is kept for reuse.
const keptCalls = 256

func (d *due) init(a *Agent) { d.idle, d.helper, d.clock = make(chan struct{}), a.helps, a.cfg.Clock }

// add queues a call.
func (d *due) add(c call) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var p *call
	if n := len(d.free); n > 0 {
		p, d.free = d.free[n-1], d.free[:n-1]
	} else {
		p = new(call)
	}
	*p = c
	if d.head > len(d.queue)/2 { // before the slice grows: drop the entries that are done
		n := copy(d.queue, d.queue[d.head:])
		clear(d.queue[n:])
		d.queue, d.head = d.queue[:n], 0
	}
	d.queue = append(d.queue, p)
	d.count.Add(1)
}

// take returns the next call, or nil, and whether there are more. done is the call that has
// returned, if any.
func (d *due) take(done *call) (c *call, more bool) {
	now := d.clock.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if done != nil {
		d.ends(done, now)
	}
	d.look(now)
	switch {
	case done == nil && d.closed:
		return nil, false
	case done == nil:
		d.making++
	default:
		if *done = (call{}); len(d.free) < keptCalls {
			d.free = append(d.free, done)
		}
	}
	if d.closed || d.head == len(d.queue) {
		d.making--
		d.rest()
		return nil, false
	}
	c = d.queue[d.head]
	d.queue[d.head] = nil
	d.head++
	d.count.Add(-1)
	d.begins(c, now)
	return c, d.head < len(d.queue)
}

// ask reports whether to start a worker that helps, and counts that worker. It returns false
// while another helping worker was started but has not begun yet.
func (d *due) ask() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.asked || d.closed {
		return false
	}
	d.active++
	d.asked = true
	return true
}

// come records that the worker which ask has counted has begun, so that ask may count another one.
func (d *due) come() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = false
}

// isMade reports whether some goroutine is making calls. If so, that goroutine also makes the calls that are
// added meanwhile.
func (d *due) isMade() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.making > 0
}

// close empties the queue. After that neither a call nor a worker starts.
func (d *due) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.queue, d.head = nil, 0
	d.count.Store(0)
	d.rest()
}

// rest closes idle when no goroutine makes calls any more after close. The caller holds d.mu.
func (d *due) rest() {
	if d.closed && d.making+d.active == 0 {
		close(d.idle)
	}
}

// hire counts one more worker, which calls retire when it ends. It returns false if the agent has
// closed; the worker must not start then.
func (d *due) hire() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.active++
	}
	return !d.closed
}

func (d *due) retire() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.active--
	d.rest()
}

// do steps the machine on an input of the network, a clock or discovery, and makes the calls
// that follow.
func (a *Agent) do(in engine.Input) {
	a.runner.Do(in)
	a.makeCalls()
}

// deliver steps the machine on a message, and makes the calls that follow. A goroutine that is
// already applying effects also applies the effects of this message.
func (a *Agent) deliver(in engine.Input) {
	if !a.runner.Do(in) {
		a.due.left.Store(true)
	}
	a.makeCalls()
}

// tell steps the machine for a service, which may be in a callback or hold a lock that
// callbacks take. Therefore tell makes no calls itself. If a goroutine is already making calls,
// that goroutine makes the new ones too; otherwise a worker makes them.
func (a *Agent) tell(in engine.Input) {
	a.runner.Do(in)
	if a.due.count.Load() > 0 && !a.due.isMade() {
		a.help()
	}
}

// makeCalls makes the calls that are due, unless a goroutine is applying effects.
func (a *Agent) makeCalls() {
	if a.due.count.Load() == 0 || a.due.applying.Load() {
		return
	}
	for c, more := a.due.take(nil); c != nil; c, more = a.due.take(c) {
		if more && a.due.left.Swap(false) {
			a.help()
		}
		a.call(c)
	}
	a.warnSlow()
}

// work calls f in a worker, unless the agent has closed.
func (a *Agent) work(f func()) {
	if a.due.hire() {
		a.cfg.Worker(func() {
			defer a.due.retire()
			f()
		})
	}
}

// help starts a worker that makes calls too.
func (a *Agent) help() {
	if a.due.ask() {
		a.cfg.Worker(a.due.helper)
	}
}

// helps is the function of a worker that help has started.
func (a *Agent) helps() {
	defer a.due.retire()
	a.due.come()
	a.makeCalls()
}

// callClock is the clock that the machine's runner gets. After a timer has stepped the machine, it makes the
// calls that follow.
type callClock struct {
	machine.Clock
	a *Agent
}

func (c callClock) AfterFunc(d time.Duration, f func()) machine.Timer {
	return c.Clock.AfterFunc(d, func() {
		f()
		c.a.watch()
		c.a.makeCalls()
	})
}

// heard steps the machine on news of discovery.
func (a *Agent) heard(id nid.NID, alive bool, lifetime uint64) {
	a.do(engine.Input{Kind: engine.Health, From: id, Alive: alive, Lifetime: lifetime})
}
