package lnet

import "ulnet/lnet/nid"

// Send sends m to Header.DestNID and Header.DestPID. It completes the header with the source,
// never waits, and reports every outcome through Upper.Sent, which may be called before Send
// returns. A PUT or GET to a peer that is not known yet waits for discovery (see
// [Node.SetDiscoverer]). If DestNID belongs to a multi-rail node, a PUT or GET goes to any NID
// of that node, by any NI; see package path. A message with a Group goes to that group, as one
// datagram, by [Node.MulticastNI]. A message with Answers, an NI, goes to Asker by that NI.
// Errors:
//
//	EINVAL        the destination is no NID, or Source is none of ours
//	EHOSTUNREACH  neither an NI nor a route reaches the destination's net, or it is
//	              this node, which has no loopback NI
//	ENOBUFS       the peer table is full of busy peers, or too many messages
//	              wait for discovery or for connections that are being dialled
//	ENETDOWN      the link of the only NI that fits is down
//	ESHUTDOWN     the NI is going down
//	ETIMEDOUT     waited too long for discovery and credits
//	ECANCELED     was aborted while it waited
//
// It also returns the error of a failed discovery, and errors of the driver.
func (n *Node) Send(m *Message) {
	m.reset()
	n.inFlight.inc()
	if m.Group != 0 {
		n.multicast(m)
		return
	}
	m.dest = m.Header.DestNID
	n.dispatch(m)
}

// reaches reports whether dst is on the NI's own net and both NIDs fit the
// same header: an IPv6-sized NI cannot speak to an IPv4-sized NID. The only NID that lo reaches is 0@lo.
// A peer may list another NID on net lo, but no message to that NID would be for this node.
func (ni *NI) reaches(dst nid.NID) bool {
	return ni.cfg.Net == dst.Net() && ni.nid.Is4() == dst.Is4() && (!ni.isLo() || dst.IsLo())
}

func (ni *NI) isLo() bool { return ni.nid.IsLo() }
