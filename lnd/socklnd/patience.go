package socklnd

import (
	"sync/atomic"
	"time"
)

// patience is sock_timeout, which follows LNet's time-out for drivers unless it is given.
type patience struct {
	inForce atomic.Int64
	given   bool
}

func (p *patience) init(d time.Duration, given bool) {
	p.given = given
	p.inForce.Store(int64(d))
}

func (p *patience) now() time.Duration { return time.Duration(p.inForce.Load()) }

// SetTimeout implements lnd.TimeoutSetter. The system's time-out for what the peer does not
// acknowledge (TCP_USER_TIMEOUT) follows.
func (ni *NI) SetTimeout(d time.Duration) {
	if ni.patience.given || d <= 0 || ni.patience.inForce.Swap(int64(d)) == int64(d) {
		return
	}
	for _, p := range ni.allPeers() {
		p.mu.Lock()
		for _, c := range p.conns {
			setUserTimeout(c.net, ni.patience.now())
		}
		p.unlock()
	}
	ni.rescan()
}

// rescan sets the time of the next scan by the time-out in force.
func (ni *NI) rescan() {
	ni.mu.Lock()
	defer ni.mu.Unlock()
	if ni.scanner != nil && ni.scanner.Stop() {
		ni.scanner = nil
		ni.scanLater()
	}
}
