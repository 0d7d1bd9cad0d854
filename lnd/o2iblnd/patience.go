package o2iblnd

import (
	"time"

	"ulnet/lnet/nid"
)

// connectTimeout is how long a connection may take to be made (o2iblnd-wire §7).
func (ni *NI) connectTimeout() time.Duration { return max(5*time.Second, ni.patience.Now()/4) }

// queueGrace is how much longer a message waits for a connection than one request for a connection may take
// (o2iblnd-wire §10).
const queueGrace = 10 * time.Second

// queueTimeout is how long a message may wait for a connection.
func (ni *NI) queueTimeout() time.Duration { return ni.connectTimeout() + queueGrace }

// SetTimeout implements lnd.TimeoutSetter. Messages that wait for a connection keep their
// deadlines.
func (ni *NI) SetTimeout(d time.Duration) {
	if !ni.patience.Follow(d) {
		return
	}
	for _, c := range ni.conns.all() {
		c.mu.Lock()
		if c.state == connOpen {
			c.step(exchangeIn{kind: exchangePatience, timeout: ni.patience.Now()})
		}
		c.unlock()
	}
	ni.peers.Rescan()
}

// ClosePeer implements lnd.PeerCloser.
func (ni *NI) ClosePeer(id nid.NID, incarnation uint64, cause error) {
	if p := ni.peers.Find(id); p != nil {
		p.failOf(incarnation, newError(PeerClosed, lustre(id), cause))
	}
}
