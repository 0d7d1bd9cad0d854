package socklnd

import (
	"sync/atomic"
	"time"
)

// patience is the sock_timeout in force. It follows LNet's time-out for drivers, unless the
// configuration has a sock_timeout.
type patience struct {
	inForce atomic.Int64
	given   bool
}

func (p *patience) init(d time.Duration, given bool) {
	p.given = given
	p.inForce.Store(int64(d))
}

func (p *patience) now() time.Duration { return time.Duration(p.inForce.Load()) }

// SetTimeout implements lnd.TimeoutSetter. It also sets TCP_USER_TIMEOUT of all connections, the
// system's time-out for unacknowledged data.
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

// rescan sets the time of the next scan anew, after the time-out in force has changed.
func (ni *NI) rescan() {
	ni.mu.Lock()
	defer ni.mu.Unlock()
	if ni.scanner != nil && ni.scanner.Stop() {
		ni.scanner = nil
		ni.scanLater()
	}
}
