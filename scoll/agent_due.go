package scoll

import (
	"sync"
	"sync/atomic"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/scoll/engine"
)

// due is the calls of services that effects ask for. They are made when the
// effects of a step are applied, in the goroutine that brought the input. While
// one is made what others deliver is taken, and their calls are made (SC-49):
// the machine waits for the calls that others have to follow. Who applied the
// effects of what others delivered too has several calls to make; a worker then
// helps. One delivery's calls are made in turn, which saves switching.
type due struct {
	applying atomic.Bool // effects: who does that makes the calls afterwards
	left     atomic.Bool // a delivery's effects are applied by somebody else
	count    atomic.Int64
	helper   func() // Agent.helps, made once
	clock    machine.Clock
	slow     atomic.Uint64 // calls that took long
	warns    atomic.Bool   // unsaid is not empty

	mu     sync.Mutex
	idle   chan struct{} // closed when that is so after close
	queue  []*call       // guarded by mu, like all below; from head on
	head   int
	free   []*call
	making int  // goroutines that make calls, of workers too
	active int  // workers, from before they begin
	asked  bool // a worker is about to help
	closed bool

	running []*call // see watchdog.go; guarded by mu, like all below
	slowOf  map[ServiceID]*slowOf
	unsaid  []slowCall // to be logged
}

// call is a call to be made.
type call struct {
	kind  engine.EffectKind
	r     *Request
	id    engine.RequestID
	reply Reply    // CallReply
	maps  *Service // CallMap
	oob   OOBID    // likewise
	made  *Group   // Created
	err   error    // likewise
	began time.Duration
	slow  bool // the watchdog has seen it
}

// keptCalls is how many calls' memory is kept.
const keptCalls = 256

func (d *due) init(a *Agent) { d.idle, d.helper, d.clock = make(chan struct{}), a.helps, a.cfg.Clock }

// add makes a call due.
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
	if d.head > len(d.queue)/2 { // before it grows
		n := copy(d.queue, d.queue[d.head:])
		clear(d.queue[n:])
		d.queue, d.head = d.queue[:n], 0
	}
	d.queue = append(d.queue, p)
	d.count.Add(1)
}

// take returns the next call, or nil, and whether there are more; done is the one
// before, if any.
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

// ask reports whether a worker is to be asked for help, once until it comes, and counts it.
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

// come takes note that the worker is here.
func (d *due) come() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = false
}

// isMade reports whether somebody makes calls, who will look for more.
func (d *due) isMade() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.making > 0
}

// close ends what is due; no more is then, and no worker is asked.
func (d *due) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.queue, d.head = nil, 0
	d.count.Store(0)
	d.rest()
}

// rest takes note that a goroutine has ended. The caller holds d.mu.
func (d *due) rest() {
	if d.closed && d.making+d.active == 0 {
		close(d.idle)
	}
}

// hire counts a worker, which ends with retire; false: the agent has closed.
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

// do steps the machine for the network, a clock or discovery, and makes the
// calls that come of it.
func (a *Agent) do(in engine.Input) {
	a.runner.Do(in)
	a.makeCalls()
}

// deliver does the same for a message, which may come while somebody else
// applies effects: those that come of it too.
func (a *Agent) deliver(in engine.Input) {
	if !a.runner.Do(in) {
		a.due.left.Store(true)
	}
	a.makeCalls()
}

// tell steps the machine for a service, which may be in a callback or hold a
// lock that callbacks take: who makes calls makes those that come of it, or
// else a worker.
func (a *Agent) tell(in engine.Input) {
	a.runner.Do(in)
	if a.due.count.Load() > 0 && !a.due.isMade() {
		a.help()
	}
}

// makeCalls makes the calls that are due, unless this is amid effects.
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

// work has a worker call f, unless the agent has closed.
func (a *Agent) work(f func()) {
	if a.due.hire() {
		a.cfg.Worker(func() {
			defer a.due.retire()
			f()
		})
	}
}

// help has a worker make calls too.
func (a *Agent) help() {
	if a.due.ask() {
		a.cfg.Worker(a.due.helper)
	}
}

// helps is what a worker does.
func (a *Agent) helps() {
	defer a.due.retire()
	a.due.come()
	a.makeCalls()
}

// callClock makes the calls that come of timers.
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

// heard steps the machine on what discovery says.
func (a *Agent) heard(id nid.NID, alive bool, lifetime uint64) {
	a.do(engine.Input{Kind: engine.Health, From: id, Alive: alive, Lifetime: lifetime})
}
