package o2iblnd

import (
	"sync/atomic"
	"time"

	"ulnet/lnet/nid"
)

// patience is the timeout in force. It follows LNet's time-out for drivers, unless the
// configuration has a timeout.
type patience struct {
	inForce atomic.Int64
	given   bool
}

func (p *patience) init(d time.Duration, given bool) {
	p.given = given
	p.inForce.Store(int64(d))
}

func (p *patience) now() time.Duration { return time.Duration(p.inForce.Load()) }

// connect is how long a connection may take to be made (o2iblnd-wire §7).
func (p *patience) connect() time.Duration { return max(5*time.Second, p.now()/4) }

// SetTimeout implements lnd.TimeoutSetter. Messages that wait for a connection keep their
// deadlines.
func (ni *NI) SetTimeout(d time.Duration) {
	if ni.patience.given || d <= 0 || ni.patience.inForce.Swap(int64(d)) == int64(d) {
		return
	}
	for _, c := range ni.conns.all() {
		c.mu.Lock()
		if c.state == connOpen {
			c.step(exchangeIn{kind: exchangePatience, timeout: ni.patience.now()})
		}
		c.unlock()
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

// ClosePeer implements lnd.PeerCloser.
func (ni *NI) ClosePeer(id nid.NID, incarnation uint64, cause error) {
	ni.mu.RLock()
	p := ni.peers[id]
	ni.mu.RUnlock()
	if p != nil {
		p.failOf(incarnation, newError(PeerClosed, lustre(id), cause))
	}
}
