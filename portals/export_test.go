package portals

import "sync"

// AcksAtOnce makes the table post at most n equal ACKs of a batch together.
func (t *Table) AcksAtOnce(n int) { t.acksAtOnce = n }

// OnOperation makes the table call f each time that it allocates an operation, because none is free for
// reuse.
func (t *Table) OnOperation(f func()) {
	more := t.operations.New
	t.operations = sync.Pool{New: func() any {
		f()
		return more()
	}}
}

// Next returns the number of messages that are held at a portal and that MDAttach looks at.
func (t *Table) Next(index int) int { return t.portal(index).held.n }

// Held returns the number of messages that count as held at a portal, of all peers together.
func (t *Table) Held(index int) (n int) {
	for _, of := range t.portal(index).heldOf {
		n += of
	}
	return n
}

// TimeOneIn makes the table time one in n operations that await an answer: n is a power of 2, or 0 to time
// none. A timed operation awaits an answer that names its call. So tests that make up answers with the handle
// of an MD must not time the operation.
func (t *Table) TimeOneIn(n uint8) { t.latencies.every = n }
