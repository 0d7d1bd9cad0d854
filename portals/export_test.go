package portals

// AcksAtOnce makes the table post at most n equal ACKs of a batch together.
func (t *Table) AcksAtOnce(n int) { t.acksAtOnce = n }
