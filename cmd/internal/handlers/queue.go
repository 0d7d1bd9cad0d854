package handlers

import "encoding/json"

// queue has the events that wait for a run of their handler. The zero value is empty.
type queue struct {
	events []event
	bytes  int    // size of all queued events in bytes
	missed uint64 // events that were dropped since the last call of take
}

// event is a queued event.
type event struct {
	text json.RawMessage
	done chan<- Run // receives the run that gets the event, or is closed if the event is dropped; capacity 1; nil if no caller waits
}

// lost tells the goroutine that waits for the event's run that the event was dropped.
func (e *event) lost() {
	if e.done != nil {
		close(e.done)
	}
}

// push adds an event. If there is no room it drops the oldest ones, so that a slow handler
// learns of the latest state. If the event is larger than MaxEvent, it is itself dropped.
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
