package o2iblnd

import (
	"time"

	"ulnet/lnd/internal/shell"
)

// Only the scan notices time-outs: it looks at all connections and peers periodically, so that the
// message path sets no timer (o2iblnd-wire §10).
const (
	scansPerTimeout = 4
	minScanInterval = 10 * time.Millisecond
	maxScanInterval = time.Second
)

func (ni *NI) scanInterval() time.Duration {
	d := ni.patience.now()
	if ni.cfg.Keepalive > 0 {
		d = min(d, ni.cfg.Keepalive)
	}
	return min(max(d/scansPerTimeout, minScanInterval), maxScanInterval)
}

// scanLater sets the timer of the scan if it is not set. The caller holds ni.mu.
func (ni *NI) scanLater() {
	if ni.scanner == nil {
		ni.scanner = ni.after(ni.scanInterval(), ni.scan)
	}
}

// scan looks at everything once and forgets the peers that are idle.
func (ni *NI) scan() {
	now := ni.clock.Now()
	for _, c := range ni.conns.all() {
		c.scan(now)
	}
	for _, p := range ni.allPeers() {
		p.scan(now)
	}
	ni.mu.Lock()
	defer ni.mu.Unlock()
	ni.scanner = nil
	for id, p := range ni.peers {
		if p.remove() {
			delete(ni.peers, id)
		}
	}
	ni.peers = shell.Shrink(ni.peers, &ni.most)
	if len(ni.peers) > 0 && !ni.ended() {
		ni.scanLater()
	}
}
