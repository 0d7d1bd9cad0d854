package portals

import (
	"reflect"
	"syscall"
	"time"
)

// PollEQs reads the next event of the first of several queues that has one,
// and waits for one if need be, for at most timeout by the node's clock
// (LNetEQPoll). A negative timeout waits for ever. which is the index of the
// queue that the event, or the error, is of; ok is false when there is no
// event. ErrOverflow comes with a valid one.
//
//	ENOENT  no queues, or one of them was freed
func (t *Table) PollEQs(queues []*EQ, timeout time.Duration) (e Event, which int, ok bool, err error) {
	if len(queues) == 0 {
		return e, 0, false, opError("PollEQs", syscall.ENOENT)
	}
	cases := make([]reflect.SelectCase, 0, len(queues)+1)
	for _, q := range queues {
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(q.arrived)})
	}
	if timeout > 0 {
		over := make(chan struct{})
		defer t.node.Clock().AfterFunc(timeout, func() { close(over) }).Stop()
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(over)})
	}
	woken := -1 // the queue whose token was taken last
	for {
		for which, q := range queues {
			ok, err := q.take(&e)
			if !ok && err == nil {
				continue
			}
			if woken >= 0 && woken != which {
				queues[woken].notify() // it may have an event, and others wait for it
			}
			return e, which, ok, err
		}
		if timeout == 0 {
			return e, 0, false, nil
		}
		if woken, _, _ = reflect.Select(cases); woken == len(queues) {
			return e, 0, false, nil
		}
	}
}
