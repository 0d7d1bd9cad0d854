package shell

import (
	"context"
	"sync/atomic"
)

// Messages counts the messages that an NI owns, and waits for their end. Init makes it
// ready; any goroutine may call the other methods.
type Messages struct {
	count   atomic.Int64
	closing atomic.Bool
	drained chan struct{} // gets a value when count falls to 0 after Close
}

// Init prepares m for use.
func (m *Messages) Init() { m.drained = make(chan struct{}, 1) }

// Begin counts a message, for which the caller has to call End later, and returns how many
// messages have not ended.
func (m *Messages) Begin() int64 { return m.count.Add(1) }

// End counts one message as ended.
func (m *Messages) End() {
	if m.count.Add(-1) == 0 && m.closing.Load() {
		m.signal()
	}
}

// Len returns how many messages have not ended.
func (m *Messages) Len() int64 { return m.count.Load() }

// Close begins the end. From now on Closing tells each goroutine that calls Begin to refuse its
// message.
func (m *Messages) Close() { m.closing.Store(true) }

// Closing reports whether Close has been called.
func (m *Messages) Closing() bool { return m.closing.Load() }

// Wait waits, after Close, until no message is left. It returns ctx's error if ctx ends first.
// Several goroutines may wait.
func (m *Messages) Wait(ctx context.Context) error {
	for m.count.Load() > 0 {
		select {
		case <-m.drained:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	m.signal() // drained has one value for all waiting goroutines: pass it on to the next one
	return nil
}

func (m *Messages) signal() {
	select {
	case m.drained <- struct{}{}:
	default:
	}
}
