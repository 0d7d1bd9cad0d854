package loan

import "time"

// Snapshot is what there is to see of a Lending.
type Snapshot struct {
	State   State
	Asked   bool // somebody has, and waits for an answer
	Waits   bool // a borrower does, in the source
	Useless int  // loans that were of no use, less those that were
}

// Snapshot returns what is so now.
func (l *Lending) Snapshot() Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Snapshot{State: l.state, Asked: l.asked.Load(), Waits: l.waits, Useless: l.useless}
}

// SetPatience changes Patience for l. It is for tests of drivers, which may be kept from
// running for longer.
func (l *Lending) SetPatience(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.patience = d
}

// Forgive forgets loans that were of no use, and that there were none so far: the
// next asker is served. It is for tests of drivers.
func (l *Lending) Forgive() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.useless, l.refuse, l.last = 0, 0, nil
}
