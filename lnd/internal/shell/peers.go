package shell

import (
	"maps"
	"slices"
	"sync"
	"time"

	"ulnet/lnet/machine"
)

// Peers has the peers of an NI by their ids, and what ends with the NI: its tasks, and the scans of its peers,
// which take place while there are any. Init makes it ready; any goroutine may call the other methods.
type Peers[K comparable, P any] struct {
	// Tasks are the goroutines and timer functions of the NI, for whose end it waits after End. Begin and After
	// add tasks. Others may add one only while the NI is sure not to wait yet.
	Tasks sync.WaitGroup

	cfg  PeersConfig[K, P]
	over chan struct{} // closed by End

	mu    sync.RWMutex
	table map[K]*P      // guarded by mu, like all fields below
	most  int           // largest number of peers since the table was made
	timer machine.Timer // timer of the next scan; nil while there is nothing to scan
	due   time.Duration // when that scan is due
}

// PeersConfig has what Peers need of an NI.
type PeersConfig[K comparable, P any] struct {
	Clock    machine.Clock        // the clock of scans and of After
	Make     func(K) *P           // makes a peer; called with the lock of the table
	Interval func() time.Duration // returns the time until the next scan
	Scan     func()               // looks at all peers, and then calls Sweep
}

// Init prepares t for use.
func (t *Peers[K, P]) Init(cfg PeersConfig[K, P]) {
	t.cfg, t.over, t.table = cfg, make(chan struct{}), make(map[K]*P)
}

// Find returns the peer with an id, or nil.
func (t *Peers[K, P]) Find(id K) *P {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.table[id]
}

// Get returns the peer with an id, and makes it if need be. It returns nil after End.
func (t *Peers[K, P]) Get(id K) *P {
	if p := t.Find(id); p != nil {
		return p
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.table[id]; p != nil || t.Ended() {
		return p
	}
	p := t.cfg.Make(id)
	t.table[id] = p
	t.most = max(t.most, len(t.table))
	t.scanLater()
	return p
}

// All returns the peers of this instant, in no order.
func (t *Peers[K, P]) All() []*P {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Collect(maps.Values(t.table))
}

// Forget removes p, the peer with that id, if gone says so, unless another peer has the id by now.
func (t *Peers[K, P]) Forget(id K, p *P, gone func(*P) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.table[id] == p && gone(p) {
		delete(t.table, id)
	}
}

// Sweep ends a scan: it removes the peers of which gone says so, and sets the timer of the next scan.
func (t *Peers[K, P]) Sweep(gone func(*P) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.table, func(_ K, p *P) bool { return gone(p) })
	t.table = Shrink(t.table, &t.most)
	if t.timer = nil; len(t.table) > 0 {
		t.scanLater()
	}
}

// scanLater sets the timer of the scan if it is not set. The caller holds t.mu.
func (t *Peers[K, P]) scanLater() {
	if t.timer == nil {
		d := t.cfg.Interval()
		t.due = t.cfg.Clock.Now() + d
		t.timer = t.After(d, t.cfg.Scan)
	}
}

// Rescan sets the time of the next scan anew, after the interval has changed.
func (t *Peers[K, P]) Rescan() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer != nil && t.timer.Stop() {
		t.timer = nil
		t.scanLater()
	}
}

// Due returns when the latest scan that was set is due.
func (t *Peers[K, P]) Due() time.Duration {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.due
}

// Begin begins a task, and calls f if it is not nil, before End. It returns false, and does nothing, after End.
func (t *Peers[K, P]) Begin(f func()) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.Ended() {
		return false
	}
	t.Tasks.Add(1)
	if f != nil {
		f()
	}
	return true
}

// After calls f as a task after d, unless the NI has ended or the timer is stopped.
func (t *Peers[K, P]) After(d time.Duration, f func()) machine.Timer {
	return t.cfg.Clock.AfterFunc(d, func() {
		if t.Begin(nil) {
			defer t.Tasks.Done()
			f()
		}
	})
}

// Ended reports whether End has been called, so that all tasks have to end.
func (t *Peers[K, P]) Ended() bool {
	select {
	case <-t.over:
		return true
	default:
		return false
	}
}

// End removes all peers and returns them. From now on there are no scans, and Begin and Get do nothing. first is false
// if an earlier call has done so.
func (t *Peers[K, P]) End() (peers []*P, first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if first = !t.Ended(); first {
		close(t.over)
	}
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
	peers = slices.Collect(maps.Values(t.table))
	t.table = nil
	return peers, first
}
