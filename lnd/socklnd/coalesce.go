package socklnd

import "time"

// In a long burst a drain that begins at once finds few messages. For each of them it passes
// records and locks between the caches of two processors, and each write costs 10 to 20 µs whatever
// its size. So the drain is delayed, as network cards delay interrupts (adaptive interrupt
// coalescing): mostly enough messages for a write gather meanwhile, and the goroutine that posts
// them writes. If a sender posts too few messages for a write, because it waits for SEND events
// or answers, each delay costs it time for nothing. So each delay in which too few messages came (a
// delay in vain) doubles the number of drains that begin at once afterwards.
//
// A timer decides at each of its ticks whether the delayed drain begins. A tick wakes a thread, which costs as much as
// posting dozens of messages. So each delay that was not in vain doubles the time between ticks, up to four times
// coalesceTime, and a delay in vain sets it to coalesceTime again.
//
// Only inline messages of a burst wait for a delayed drain: until a tick, and then at most
// coalesceTime*coalesceTicks, 0.6 ms in all. Lazy messages (lnd.Inline) leave when the reader's batch ends.
const (
	coalesceTime = 50 * time.Microsecond
	// A drain that is delayed is delayed further at a tick only if at least 1/coalesceTicks of enoughBytes has come
	// since the tick before (more, if the ticks are further apart than coalesceTime). As enoughBytes end a delay,
	// no delay has more than this many ticks.
	coalesceTicks = 8
	maxStretch    = 2    // largest value of coalescing.stretch
	maxAtOnce     = 1024 // bound for the number of drains that begin at once after a delay in vain
)

// coalescing is what a writer knows about delayed drains.
type coalescing struct {
	on      bool // the sending side is owned by a drain that begins at a later tick; see tick
	lazy    bool // a lazy message is among the inline ones that wait
	ticking bool // the timer that calls tick is set
	posted  int  // bytes of all inline messages posted so far on this connection
	fast    int  // value that posted has at the next tick if messages come fast enough that a buffer will be full soon
	stretch int  // the time between ticks is coalesceTime * 2^stretch
	atOnce  int  // how many more drains are to begin at once before one is delayed again
	vain    int  // value of atOnce after the latest delay in vain; each delay that is not in vain halves it
}

// schedule leaves the messages that wait to a drain, which begins at once or later. The caller
// holds mu and owns the sending side.
func (w *writer) schedule() {
	if w.coalesces() {
		w.delay()
	} else {
		w.startDrain()
	}
}

// coalesces reports whether the next drain is to begin later, so that more messages leave with it. The caller holds mu.
func (w *writer) coalesces() bool {
	co := &w.coalescing
	if !w.burst.on() || w.posted == nil || w.enough() || co.lazy || w.queue.Len() > 0 || len(w.acks) > 0 || w.closed != nil {
		return false
	}
	if co.atOnce > 0 {
		co.atOnce--
		return false
	}
	return true
}

// delay hands the sending side to a drain that begins at a later tick. The caller holds mu.
func (w *writer) delay() {
	co := &w.coalescing
	w.scheduled, co.on = true, true
	if !co.ticking {
		w.setTick()
	}
}

func (w *writer) setTick() {
	co, ni := &w.coalescing, w.c.peer.ni
	co.ticking, co.fast = true, co.posted+enoughBytes<<co.stretch/coalesceTicks
	ni.peers.Tasks.Add(1)
	ni.clock.AfterFunc(coalesceTime<<co.stretch, w.tickFn)
}

// tick begins the delayed drain, unless messages still come fast enough that a buffer will be full soon.
func (w *writer) tick() {
	defer w.c.peer.ni.peers.Tasks.Done()
	co := &w.coalescing
	w.mu.Lock()
	defer w.mu.Unlock()
	co.ticking = false
	switch {
	case !co.on:
	case co.posted >= co.fast:
		w.setTick()
	default:
		co.on, co.stretch = false, 0
		co.vain = min(max(1, 2*co.vain), maxAtOnce)
		co.atOnce = co.vain
		w.startDrain()
	}
}

// lingers is called by a drain that has written a batch. If the next drain is to be delayed, lingers
// gives the sending side to that drain. It reports whether it did.
func (w *writer) lingers() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ending = false
	if !w.coalesces() {
		return false
	}
	w.delay()
	return true
}

// seize takes the sending side from a drain that has not begun, and reports whether it did. The
// caller holds mu.
func (w *writer) seize() bool {
	if !w.scheduled || w.batch != nil {
		return false
	}
	w.scheduled, w.answers, w.coalescing.on = false, false, false
	return true
}

// seizeDelayed is seize for a drain that is delayed.
func (w *writer) seizeDelayed() bool { return w.coalescing.on && w.seize() }
