package socklnd

// connsPerPeer returns the number of connections of each bulk type that the NI makes to each peer
// that it adds from now on.
func (ni *NI) connsPerPeer() int {
	if n := ni.conns.Load(); n > 0 {
		return int(n)
	}
	return ni.cfg.ConnsPerPeer
}

// SetConnsPerPeer implements lnd.ConnsSetter. Existing peers keep their number of connections.
func (ni *NI) SetConnsPerPeer(n int) { ni.conns.Store(int32(min(max(n, 0), maxConnsPerPeer))) }
