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
		ok, read := l.await(f)
		if !ok || !l.source.Take() {
			l.handBack()
			return false
		}
		if done, kept := l.finish(f, read); done {
			return kept
		}
	}
}

func (l *Loop) takeOver(f lnd.Follower) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != Idle || l.follower != f {
		return false
	}
	if l.Late() {
		l.countUnused()
		l.setOwn()
		return false
	}
	l.state, l.used = Taken, true
	l.idleSince.Store(int64(machine.Never))
	return true
}

// await blocks in the source as long as f waits. read says that something has arrived.
func (l *Loop) await(f lnd.Follower) (ok, read bool) {
	l.mu.Lock()
	l.blocked = true
	l.mu.Unlock()
	ok = true
	if f.Waiting() {
		ok, read = l.source.Await(), true
	}
	l.mu.Lock()
	interrupted := l.interrupted
	l.blocked, l.interrupted = false, false
	l.mu.Unlock()
	if interrupted {
		_ = l.source.SetReadDeadline(time.Time{}) // fails only when the source is closed
	}
	return ok, read && !interrupted
}

// handBack leaves the remaining work, or the end of the source, to the loop's own goroutine.
// If messages were received through this hand-over, it was useful, and the next one needs no
// more requests than this one did.
func (l *Loop) handBack() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.uses > 0 {
		l.refuse = l.refusals()
	} else {
		l.countUnused()
	}
	l.setOwn()
}

// finish ends Receive if f waits no more. f keeps the loop if it may stay idle.
func (l *Loop) finish(f lnd.Follower, read bool) (done, kept bool) {
	var now time.Duration // time given to ReadAt, which saves reading the clock again
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
		l.unused = max(l.unused-1, 0)
	}
	l.setIdle(now)
	if l.state != Idle {
		return true, false
	}
	l.watchdog.resume(l.uses < provenUses)
	return true, true
}
