package socklnd

import "time"

// SetTimeout implements lnd.TimeoutSetter. It also sets TCP_USER_TIMEOUT of all connections, the
// system's time-out for unacknowledged data.
func (ni *NI) SetTimeout(d time.Duration) {
	if !ni.patience.Follow(d) {
		return
	}
	for _, p := range ni.peers.All() {
		p.mu.Lock()
		for _, c := range p.conns {
			setUserTimeout(c.net, ni.patience.Now())
		}
		p.unlock()
	}
	ni.peers.Rescan()
}
