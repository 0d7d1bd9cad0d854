package handlers

import "encoding/json"

// queue holds the events that wait for a handler. The zero value is empty.
type queue struct {
	events []event
	bytes  int    // of all events
	missed uint64 // events that were dropped since take
}

// event is an event that waits.
type event struct {
	text json.RawMessage
	done chan<- Run // gets the run with the event, and is closed without one if the event is dropped; nil: none. It has room for a run.
}

// lost tells the goroutine that waits for the event's run.
func (e *event) lost() {
	if e.done != nil {
		close(e.done)
	}
}

// push adds an event. If there is no room it drops the oldest ones, so that a handler that falls
// behind learns of the latest state. An event larger than MaxEvent is dropped itself.
func (q *queue) push(e event) {
	if len(e.text) > MaxEvent {
		q.missed++
		e.lost()
		return
	}
	q.events = append(q.events, e)
	q.bytes += len(e.text)
	drop := 0
	for len(q.events)-drop > MaxEvents || q.bytes > MaxBytes {
		q.bytes -= len(q.events[drop].text)
		q.events[drop].lost()
		q.events[drop] = event{}
		drop++
	}
	q.events = q.events[drop:]
	q.missed += uint64(drop)
}

// take removes and returns all events, with the number of those that were dropped.
func (q *queue) take() (events []event, missed uint64) {
	events, missed = q.events, q.missed
	*q = queue{}
	return events, missed
}
