package portals

import (
	"errors"
	"reflect"
	"syscall"
	"time"
)

// PollEQs reads an event of the first queue in the list that has one (LNetEQPoll). If there is
// none it waits for one, for at most timeout by the node's clock. A negative timeout waits for
// ever. The result which is the index of the queue that the event or the error is from; ok is false if
// there is no event. ErrOverflow comes with a valid event.
//
//	ENOENT     no queues, or one of them was freed
//	ESHUTDOWN  the table was closed, and no queue has an event
func (t *Table) PollEQs(queues []*EQ, timeout time.Duration) (e Event, which int, ok bool, err error) {
	if len(queues) == 0 {
		return e, 0, false, opError("PollEQs", syscall.ENOENT)
	}
	cases := make([]reflect.SelectCase, 0, len(queues)+1)
	for _, q := range queues {
		if timeout != 0 {
			q.returnLoop()
		}
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(q.arrived)})
	}
	if timeout > 0 {
		over := make(chan struct{})
		defer t.node.Clock().AfterFunc(timeout, func() { close(over) }).Stop()
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(over)})
	}
	for woken := -1; woken < len(queues); woken, _, _ = reflect.Select(cases) {
		which, ok, err = takeFirst(queues, &e)
		switch {
		case !ok && err == nil && timeout != 0:
			continue
		case woken >= 0 && woken != which:
			queues[woken].notify() // the queue that woke this call may still have an event, for which others may wait
		}
		return e, which, ok, err
	}
	return e, 0, false, nil
}

// takeFirst reads an event of the first queue that has one. If the table is closed, an empty queue has the error
// ESHUTDOWN, which takeFirst returns only if no queue has an event.
func takeFirst(queues []*EQ, e *Event) (which int, ok bool, err error) {
	for i, q := range queues {
		ok, qerr := q.take(e)
		switch {
		case ok || qerr != nil && !errors.Is(qerr, syscall.ESHUTDOWN):
			return i, ok, qerr
		case qerr != nil && err == nil:
			which, err = i, qerr
		}
	}
	return which, false, err
}
