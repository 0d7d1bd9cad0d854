package softroce

import (
	"net/netip"

	"ulnet/lnd/verbs/ibta"
)

// The limits on half-open connections: this side has sent the REP, and has not received the RTU or
// another packet of the peer. maxGranted is for all peers together, maxGrantedEach for one peer. A
// request costs its sender one packet, whose source can be forged. At a limit a new connection
// evicts the one that has waited longest for its peer. So forged requests neither fill memory and
// tables, nor keep out the hosts whose addresses they use.
//
// Local policy. The RTU of a real peer comes after a round trip, and this side reads it after the
// packets that wait in the socket before it. So the limit for all peers is above the number of
// requests for which the socket has room by default, and the limit for one peer is above the number
// of connections that two nets of one peer make at once.
const (
	maxGranted     = 8192
	maxGrantedEach = 256
)

// makeRoom evicts connections above the limits. It is called after a connection of peer was granted.
func (c *cm) makeRoom(peer netip.Addr, out *cmOutput) {
	if c.grants.of[peer].Len() > c.cfg.MaxGrantedEach {
		c.crowdOut(c.grants.oldestOf(peer), out)
	}
	if c.grants.all.Len() > c.cfg.MaxGranted {
		c.crowdOut(c.grants.oldest(), out)
	}
}

func (c *cm) crowdOut(n *cmConn, out *cmOutput) {
	c.counters.Crowded++
	c.abandon(n, out)
}

// abandon ends a granted connection. The peer may already use it without a sign to this side;
// then a REJ would make Linux's o2iblnd panic. A DREQ is harmless in any state.
func (c *cm) abandon(n *cmConn, out *cmOutput) {
	out.event(cmEvent{Kind: cmUnreachable, ID: n.id}, nil)
	n.tid = c.tid | uint64(n.id)
	c.reply(n, ibta.AttrDREQ, n.dreq(), out)
	c.forget(n)
}
