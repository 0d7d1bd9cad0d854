package zone

import (
	"sync"
	"time"

	"ulnet/lnet/machine"
)

// keepInterval is the least time from the end of one call of Config.Keep to the next, except for the calls that Join
// and Close cause. Other nodes can make this one take a higher incarnation with each message, and Config.Keep writes
// to a disk.
const keepInterval = time.Second

// keeper calls Config.Keep for the incarnations that other nodes make this one take. A timer calls it, because Keep may
// wait for a disk, while the steps of the machine must not wait: the node would not answer, and the members would remove
// it. If there are several numbers meanwhile, only the highest is stored.
type keeper struct {
	keep  func(incarnation uint64) // nil: nothing is stored
	clock machine.Clock
	idle  chan struct{} // closed once close was called and nothing is left to store

	calling chan struct{} // has one element during a call of keep
	mu      sync.Mutex
	highest uint64        // the highest number that next has been given; guarded by mu, like all below
	stored  uint64        // the highest number that keep has been called with
	after   time.Duration // when the next call may begin
	timer   machine.Timer // the timer that calls run; nil: it is not set, and run is not running
	users   int           // calls of now, and 1 for the timer; idle is closed when there are none after close
	closed  bool
}

func (k *keeper) init(keep func(uint64), clock machine.Clock) {
	k.keep, k.clock, k.idle, k.calling = keep, clock, make(chan struct{}), make(chan struct{}, 1)
}

// now stores a number before it returns, unless a higher one is stored. It returns false if close was called, and
// then may have stored nothing.
func (k *keeper) now(incarnation uint64) bool {
	if !k.enter() {
		return false
	}
	k.store(incarnation)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.leave()
	return !k.closed
}

// enter begins a use of the keeper by now, and reports whether close was not called yet.
func (k *keeper) enter() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return false
	}
	k.users++
	return true
}

// leave ends a use of the keeper. The caller holds k.mu.
func (k *keeper) leave() {
	if k.users--; k.users == 0 && k.closed {
		close(k.idle)
	}
}

// store calls keep, unless a higher number is stored.
func (k *keeper) store(incarnation uint64) {
	if k.keep == nil {
		return
	}
	k.calling <- struct{}{}
	defer func() { <-k.calling }()
	k.mu.Lock()
	higher := incarnation > k.stored
	k.stored = max(k.stored, incarnation)
	k.mu.Unlock()
	if higher {
		k.keep(incarnation)
	}
}

// soon lets a timer store a number.
func (k *keeper) soon(incarnation uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.highest = max(k.highest, incarnation)
	if k.keep != nil && k.timer == nil {
		k.users++
		k.set()
	}
}

// set sets the timer. The caller holds k.mu.
func (k *keeper) set() {
	k.timer = k.clock.AfterFunc(max(k.after-k.clock.Now(), time.Nanosecond), k.run)
}

// run stores the highest number. If a higher one comes meanwhile, run sets the timer again, or stores that number at
// once after close.
func (k *keeper) run() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for first := true; first || k.closed && k.stored < k.highest; first = false {
		highest := k.highest
		k.mu.Unlock()
		k.store(highest)
		k.mu.Lock()
	}
	k.after, k.timer = k.clock.Now()+keepInterval, nil
	if !k.closed && k.stored < k.highest {
		k.set()
		return
	}
	k.leave()
}

// close makes the timer store its number at once, and makes the method now return false from then on. The caller has
// ended the steps of the machine, so that the timer gets no further numbers.
func (k *keeper) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	switch {
	case k.users == 0:
		close(k.idle)
	case k.timer != nil && k.timer.Stop():
		k.after = 0
		k.set()
	}
}
