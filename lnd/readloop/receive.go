package readloop

import (
	"time"

	"ulnet/lnd"
	"ulnet/lnet/machine"
)

// Receive implements lnd.ReadLoop. It reads the source in the follower's goroutine.
func (l *Loop) Receive(f lnd.Follower) bool {
	if !l.takeOver(f) {
		return false
	}
	for {
		ok, read := l.await()
		if !ok || !l.source.Take() {
			l.handBack()
			return false
		}
		if done, kept := l.finish(f, read); done {
			return kept
		}
	}
}

// takeOver makes f the follower that runs the loop, if the loop is idle. Otherwise it returns false.
func (l *Loop) takeOver(f lnd.Follower) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != Idle {
		return false
	}
	if l.Late() {
		l.uses = 0 // a follower that comes back late is unproven again, so the watchdog checks more often
	}
	l.state, l.follower = Taken, f
	l.idleSince.Store(int64(machine.Never))
	return true
}

// await blocks in the source as long as the follower waits. read says that something has arrived.
func (l *Loop) await() (ok, read bool) {
	ok = true
	if l.BeginWait() {
		ok, read = l.source.Await(), true
	}
	interrupted := l.EndWait()
	return ok, read && !interrupted
}

// BeginWait says that the follower is about to block for bytes. It returns false if the
// follower waits for nothing any more, so that the source must not block.
func (l *Loop) BeginWait() bool {
	l.mu.Lock()
	f := l.follower
	l.blocked = true
	l.mu.Unlock()
	return f.Waiting()
}

// EndWait ends what BeginWait has begun. It reports whether Interrupt was called during the wait.
func (l *Loop) EndWait() (interrupted bool) {
	l.mu.Lock()
	interrupted = l.interrupted
	l.blocked, l.interrupted = false, false
	l.mu.Unlock()
	if interrupted {
		_ = l.source.SetReadDeadline(time.Time{}) // fails only when the source is closed
	}
	return interrupted
}

// handBack leaves the remaining work, or the end of the source, to the loop's own goroutine.
// A hand-over by which no message was received counts as one that has delayed a message.
func (l *Loop) handBack() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.uses == 0 {
		l.countDelay()
	}
	l.setOwn()
}

// finish ends Receive if f waits no more. f keeps the loop if it may stay idle.
func (l *Loop) finish(f lnd.Follower, read bool) (done, kept bool) {
	var now time.Duration // from ReadAt if something was read, which saves reading the clock again
	if read {
		now = l.source.ReadAt()
	} else {
		now = l.clock.Now()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.Waiting() {
		return false, true
	}
	if l.uses++; l.uses%provenUses == 0 {
		l.delays = max(l.delays-1, 0)
	}
	l.setIdle(now)
	if l.state != Idle {
		return true, false
	}
	l.watchdog.resume(l.uses < provenUses)
	return true, true
}
