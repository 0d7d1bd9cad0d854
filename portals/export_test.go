package portals

// AcksAtOnce makes the table post at most n equal ACKs of a batch together.
func (t *Table) AcksAtOnce(n int) { t.acksAtOnce = n }

// TimeOneIn makes the table time one in n operations that await an answer: a power of 2, or 0 for
// none. An answer that a test makes up with the handle of an MD is for an operation without a call,
// so it does not answer one that is timed.
func (t *Table) TimeOneIn(n uint8) { t.latencies.every = n }
