package portals

import "sync"

// AcksAtOnce makes the table post at most n equal ACKs of a batch together.
func (t *Table) AcksAtOnce(n int) { t.acksAtOnce = n }

// OnOperation makes the table call f whenever it needs another operation than those that are unused.
func (t *Table) OnOperation(f func()) {
	more := t.operations.New
	t.operations = sync.Pool{New: func() any {
		f()
		return more()
	}}
}

// Next returns the number of messages that are held at a portal and that MDAttach looks at.
func (t *Table) Next(index int) int { return t.portal(index).held.n }

// TimeOneIn makes the table time one in n operations that await an answer: a power of 2, or 0 for
// none. An answer that a test makes up with the handle of an MD is for an operation without a call,
// so it does not answer one that is timed.
func (t *Table) TimeOneIn(n uint8) { t.latencies.every = n }
