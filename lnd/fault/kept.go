package fault

import (
	"container/heap"
	"syscall"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/faultrule"
	"ulnet/lnet/machine"
)

// item is a message that waits for its time: m if it is being sent, a if it has arrived.
type item struct {
	due time.Duration
	seq uint64
	ni  *netIf
	m   *lnd.Message
	a   *arrival

	rule    faultrule.ID // number of the delay rule that keeps the message; 0: none
	failure error        // error with which m is to be finalized; nil: m is sent
}

// kept has the items of an NI in two classes. Of the items that are due, priority messages on their
// way out (urgent) go first.
type kept struct{ urgent, normal items }

// class returns the queue in which i belongs: urgent or normal.
func (k *kept) class(i *item) *items {
	if i.m != nil && i.m.Priority {
		return &k.urgent
	}
	return &k.normal
}

// due returns the class of the next item that is due, nil if none is.
func (k *kept) due(now time.Duration) *items {
	for _, class := range [...]*items{&k.urgent, &k.normal} {
		if len(*class) > 0 && (*class)[0].due <= now {
			return class
		}
	}
	return nil
}

// len is the number of items.
func (k *kept) len() int { return len(k.urgent) + len(k.normal) }

// first is when the first item is due, Never if there is none.
func (k *kept) first() time.Duration {
	at := machine.Never
	for _, class := range [...]items{k.urgent, k.normal} {
		if len(class) > 0 {
			at = min(at, class[0].due)
		}
	}
	return at
}

// items is a heap by the time at which they are due; those of the same time
// are in the order in which they came.
type items []item

func (s items) Len() int { return len(s) }

func (s items) Less(i, j int) bool {
	if s[i].due != s[j].due {
		return s[i].due < s[j].due
	}
	return s[i].seq < s[j].seq
}

func (s items) Swap(i, j int) { s[i], s[j] = s[j], s[i] }

func (s *items) Push(x any) { *s = append(*s, x.(item)) }

func (s *items) Pop() any {
	last := len(*s) - 1
	x := (*s)[last]
	(*s)[last] = item{}
	*s = (*s)[:last]
	return x
}

// mustKeep reports whether a message with this delay has to be kept. It must be kept if there
// is a delay or a pause, or if it would overtake messages that are due. The caller holds
// plan.mu.
func (ni *netIf) mustKeep(now, delay time.Duration) bool {
	return delay > 0 || ni.plan.paused || ni.draining || ni.kept.due(now) != nil
}

// mayPass reports whether a message has no delay and the node is not paused. Such a message is kept
// only to preserve the order; if there is no room for it, it overtakes the kept messages instead of
// being lost. The caller holds plan.mu.
func (ni *netIf) mayPass(delay time.Duration) bool { return delay == 0 && !ni.plan.paused }

// keep keeps an item, for which there is room. The caller holds plan.mu.
func (ni *netIf) keep(i item) {
	p := ni.plan
	p.seq++
	i.seq = p.seq
	before := ni.kept.first()
	heap.Push(ni.kept.class(&i), i)
	p.active.Store(true)
	if i.due < before {
		ni.arm()
	}
}

// arm sets the timer for the first item. The caller holds plan.mu.
func (ni *netIf) arm() {
	at := ni.kept.first()
	// Before Startup has returned there is no NI to send by.
	if ni.plan.paused || ni.draining || ni.lower == nil {
		at = machine.Never
	}
	ni.alarm.Set(ni.plan.cfg.Clock.Now(), at)
}

// drain passes on the messages that are due. One goroutine at a time does so, which keeps
// their order.
func (ni *netIf) drain() {
	p := ni.plan
	p.mu.Lock()
	defer p.mu.Unlock()
	if ni.draining {
		return
	}
	ni.draining = true
	for i, ok := ni.next(); ok; i, ok = ni.next() {
		i.leave()
		p.mu.Unlock()
		i.pass()
		p.mu.Lock()
	}
	ni.draining = false
	ni.arm()
	p.settle()
	p.quiet.Broadcast()
}

// next takes an item that is due. The caller holds plan.mu.
func (ni *netIf) next() (i item, ok bool) {
	if ni.closed || ni.plan.paused {
		return i, false
	}
	class := ni.kept.due(ni.plan.cfg.Clock.Now())
	if class == nil {
		return i, false
	}
	return heap.Pop(class).(item), true
}

// takeKept empties ni.kept, in order. The caller holds plan.mu.
func (ni *netIf) takeKept() []item {
	left := make([]item, 0, ni.kept.len())
	for _, class := range [...]*items{&ni.kept.urgent, &ni.kept.normal} {
		for len(*class) > 0 {
			i := heap.Pop(class).(item)
			i.leave()
			left = append(left, i)
		}
	}
	ni.arm()
	return left
}

// leave gives back the room of a message that lnet owns. A copy or an arrival keeps its room
// until its memory is no longer needed. The caller holds plan.mu.
func (i *item) leave() {
	if i.m == nil {
		return
	}
	if _, copy := i.m.Owner.(*copied); !copy {
		i.ni.plan.release(i.m.Payload.Length)
	}
}

// pass lets the kept message go on to its destination.
func (i *item) pass() {
	switch {
	case i.m == nil:
		i.a.arrive()
	case i.failure != nil:
		(*upward)(i.ni).Finalize(i.m, i.failure)
	default:
		i.ni.give(i.m)
	}
}

// fail ends a message that is neither sent nor delivered, because the node ends.
func (i *item) fail() {
	if i.m != nil {
		(*upward)(i.ni).Finalize(i.m, syscall.ESHUTDOWN)
	} else {
		i.a.discard()
	}
}
