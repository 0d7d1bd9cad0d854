package o2iblnd

import (
	"time"
)

// Only the scan notices time-outs: it looks at all connections and peers periodically, so that the
// message path sets no timer (o2iblnd-wire §10).
const (
	scansPerTimeout = 4
	minScanInterval = 10 * time.Millisecond
	maxScanInterval = time.Second
)

func (ni *NI) scanInterval() time.Duration {
	d := ni.patience.Now()
	if ni.cfg.Keepalive > 0 {
		d = min(d, ni.cfg.Keepalive)
	}
	return min(max(d/scansPerTimeout, minScanInterval), maxScanInterval)
}

// scan looks at everything once and forgets the peers that are idle.
func (ni *NI) scan() {
	now := ni.clock.Now()
	absent, lasting := ni.absences.since(now, &ni.upcalls)
	if lasting {
		ni.log.Warn("handlers of this node keep it from handling what arrives; messages wait no longer than a minute more for that", "nid", ni.nid, "for", lastingAbsence)
	}
	for _, c := range ni.conns.all() {
		c.scan(now, absent)
	}
	for _, p := range sorted(ni.peers.All()) {
		p.scan(now, absent)
	}
	ni.peers.Sweep((*peer).remove)
}
