package shell

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnet/machine"
)

// table is a table of peers that are gone once the test says so.
type table struct {
	Peers[int, int]
	interval time.Duration
	scans    atomic.Int32
	gone     atomic.Bool
}

func newTable() *table {
	t := &table{interval: time.Second}
	t.Init(PeersConfig[int, int]{
		Clock: machine.RealClock(), Make: func(id int) *int { return &id }, Interval: func() time.Duration { return t.interval },
		Scan: func() {
			t.scans.Add(1)
			t.Sweep(func(*int) bool { return t.gone.Load() })
		},
	})
	return t
}

// TestPeersOfCrowd: a table is scanned while it has peers. When many peers have come and gone, their memory is freed.
func TestPeersOfCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTable()
		const crowd = 5000
		for id := range crowd {
			if one := p.Get(id); *one != id || p.Get(id) != one || p.Find(id) != one {
				t.Fatalf("peer %d is %d", id, *one)
			}
		}
		p.mu.RLock()
		full := p.table
		p.mu.RUnlock()
		time.Sleep(2500 * time.Millisecond)
		synctest.Wait()
		if n := len(p.All()); n != crowd || p.scans.Load() != 2 {
			t.Errorf("%d peers after %d scans, want %d and 2", n, p.scans.Load(), crowd)
		}
		p.gone.Store(true)
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(p.All()) != 0 || p.most != 0 || p.scans.Load() != 3 {
			t.Errorf("%d peers, most %d, after %d scans, want 3", len(p.All()), p.most, p.scans.Load())
		}
		if full[0] = new(int); p.Find(0) != nil {
			t.Error("the table is the one that the crowd has filled")
		}
	})
}

// TestPeersForget: a peer is forgotten if it is gone and no other peer has its id.
func TestPeersForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTable()
		first := p.Get(7)
		p.Forget(7, first, func(*int) bool { return false })
		p.Forget(7, new(int), func(*int) bool { return true })
		if p.Find(7) != first {
			t.Error("the peer was forgotten")
		}
		p.Forget(7, first, func(*int) bool { return true })
		if p.Find(7) != nil {
			t.Error("the peer was not forgotten")
		}
		p.End()
	})
}

// TestPeersRescan: Rescan moves the next scan to the present interval.
func TestPeersRescan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTable()
		p.Rescan() // nothing to scan
		p.interval = time.Hour
		p.Get(1)
		p.interval = time.Second
		p.Rescan()
		if due := p.Due(); due != time.Second {
			t.Errorf("due at %v", due)
		}
		time.Sleep(time.Second + time.Millisecond)
		synctest.Wait()
		if p.scans.Load() != 1 {
			t.Errorf("%d scans", p.scans.Load())
		}
		p.End()
	})
}

// TestPeersEnd: End returns the peers, ends scans and timers, and lets no task begin.
func TestPeersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTable()
		one, calls := p.Get(1), 0
		call := func() { calls++ }
		p.After(time.Second, call)
		p.After(2*time.Second, call).Stop()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		p.After(time.Second, call)
		scans := p.scans.Load()
		if !p.Begin(call) || calls != 2 || p.Ended() {
			t.Errorf("%d calls, want 2; ended: %v", calls, p.Ended())
		}
		if peers, first := p.End(); !first || len(peers) != 1 || peers[0] != one {
			t.Errorf("peers %v, first %v", peers, first)
		}
		if peers, first := p.End(); first || len(peers) != 0 {
			t.Errorf("a second end: peers %v, first %v", peers, first)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if p.Begin(call) || calls != 2 || p.scans.Load() != scans || p.Get(2) != nil || !p.Ended() {
			t.Errorf("after the end: %d calls, %d scans", calls, p.scans.Load())
		}
		p.Tasks.Done()
		p.Tasks.Wait()
	})
}

// TestPatience: the time-out follows LNet's, unless the configuration has one.
func TestPatience(t *testing.T) {
	var p Patience
	p.Init(time.Second, false)
	if p.Follow(0) || p.Follow(time.Second) || !p.Follow(time.Minute) || p.Now() != time.Minute {
		t.Errorf("%v", p.Now())
	}
	p.Init(time.Second, true)
	if p.Follow(time.Minute) || p.Now() != time.Second {
		t.Errorf("given: %v", p.Now())
	}
}
