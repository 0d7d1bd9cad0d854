package socklnd

// connsPerPeer returns how many connections of each bulk type the NI makes to a peer that it adds
// from now on.
func (ni *NI) connsPerPeer() int {
	if n := ni.conns.Load(); n > 0 {
		return int(n)
	}
	return ni.cfg.ConnsPerPeer
}

// SetConnsPerPeer implements lnd.ConnsSetter. Peers to which there are connections keep theirs.
func (ni *NI) SetConnsPerPeer(n int) { ni.conns.Store(int32(min(max(n, 0), maxConnsPerPeer))) }
