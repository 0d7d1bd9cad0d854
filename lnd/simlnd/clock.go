package simlnd

import (
	"time"

	"ulnet/lnet/machine"
)

// clock is a host's clock as stacks see it.
type clock Host

// Now is the time of the host's latest step.
func (c *clock) Now() time.Duration { return time.Duration((*Host)(c).now.Load()) }

// AfterFunc implements machine.Clock. Timers of an instant run in the order in
// which they were set, and none in the step that sets it.
func (c *clock) AfterFunc(d time.Duration, f func()) machine.Timer {
	h := (*Host)(c)
	t := &timer{host: h, f: f, index: -1}
	h.mu.Lock()
	h.timers.set(t, c.Now()+max(d, 1))
	h.wake()
	h.mu.Unlock()
	return t
}

// timer is a pending call. Its fields are guarded by the host's lock.
type timer struct {
	host  *Host
	f     func()
	at    time.Duration
	seq   uint64
	index int // in the heap, -1 if not pending
}

// Stop implements machine.Timer.
func (t *timer) Stop() bool {
	t.host.mu.Lock()
	defer t.host.mu.Unlock()
	if t.index < 0 {
		return false
	}
	t.host.timers.remove(t)
	return true
}

// Reset has the call made d from now, as a new timer would, and reports whether it was
// pending.
func (t *timer) Reset(d time.Duration) bool {
	h := t.host
	h.mu.Lock()
	defer h.mu.Unlock()
	was := t.index >= 0
	h.timers.set(t, (*clock)(h).Now()+max(d, 1))
	h.wake()
	return was
}

// timers is a heap of timers, the earliest first.
type timers struct {
	heap []*timer
	seq  uint64
}

// next is when the earliest timer is due.
func (s *timers) next() time.Duration {
	if len(s.heap) == 0 {
		return machine.Never
	}
	return s.heap[0].at
}

// set makes t pending, or moves it.
func (s *timers) set(t *timer, at time.Duration) {
	if t.index < 0 {
		t.index = len(s.heap)
		s.heap = append(s.heap, t)
	}
	s.seq++
	t.at, t.seq = at, s.seq
	s.fix(t)
}

func (s *timers) remove(t *timer) {
	last := s.heap[len(s.heap)-1]
	s.heap[len(s.heap)-1] = nil
	s.heap = s.heap[:len(s.heap)-1]
	if last != t {
		s.heap[t.index], last.index = last, t.index
		s.fix(last)
	}
	t.index = -1
}

func (t *timer) before(u *timer) bool { return t.at < u.at || t.at == u.at && t.seq < u.seq }

// fix moves t to where it belongs.
func (s *timers) fix(t *timer) {
	i := t.index
	for i > 0 && t.before(s.heap[(i-1)/2]) {
		i = s.move((i-1)/2, i)
	}
	for {
		child := 2*i + 1
		if child+1 < len(s.heap) && s.heap[child+1].before(s.heap[child]) {
			child++
		}
		if child >= len(s.heap) || !s.heap[child].before(t) {
			break
		}
		i = s.move(child, i)
	}
	s.heap[i], t.index = t, i
}

func (s *timers) move(from, to int) int {
	s.heap[to] = s.heap[from]
	s.heap[to].index = to
	return from
}

// fire calls what is due.
func (h *Host) fire(now time.Duration) {
	for {
		h.mu.Lock()
		if h.timers.next() > now {
			h.mu.Unlock()
			return
		}
		t := h.timers.heap[0]
		h.timers.remove(t)
		h.mu.Unlock()
		t.f()
	}
}
