package lnet

import (
	"errors"
	"fmt"
	"syscall"

	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// Send sends m to Header.DestNID and Header.DestPID. It completes the header
// with the source, never waits, and reports every outcome through Upper.Sent,
// which may be called before Send returns. A PUT or GET to a peer that is not
// known yet waits for discovery (see [Node.SetDiscoverer]). If no NI reaches
// DestNID but one reaches another NID of the same node, the message goes
// there. A message with a Group goes to that, as one datagram, by
// [Node.MulticastNI]. One with Answers goes to Asker by that NI. Errors:
//
//	EINVAL        the destination is no NID, or Source is none of ours
//	EHOSTUNREACH  no NI reaches the destination's net, or it is this node, which has
//	              no loopback NI
//	ENOBUFS       the peer table is full of busy peers, or too many messages
//	              wait for discovery or for connections that are being dialled
//	ENETDOWN      the link of the only NI that fits is down
//	ESHUTDOWN     the NI is going down
//	ETIMEDOUT     waited too long for discovery and credits
//	ECANCELED     was aborted while it waited
//
// why discovery failed, and what the driver reports.
func (n *Node) Send(m *Message) {
	m.reset()
	n.inFlight.inc()
	if m.Group != 0 {
		n.multicast(m)
		return
	}
	ni, err := m.Answers, error(nil)
	if ni == nil {
		ni, err = n.pathTo(m.Header.DestNID, m.Source)
	}
	if err != nil {
		ni, err = n.detour(m, err)
	}
	if err != nil {
		n.finish(m, err)
		return
	}
	n.address(m, ni)
	if ni.isLo() {
		ni.lower.Send(&m.Message)
		return
	}
	n.sendBeyond(ni, m)
}

// sendBeyond gives m to its peer beyond ni.
func (n *Node) sendBeyond(ni *NI, m *Message) {
	if err := ni.linkError(); err != nil {
		m.peer = nil
		n.finish(m, err)
		return
	}
	for {
		p, err := n.peers.get(m.Target.NID, ni)
		if err != nil {
			m.peer = nil
			n.finish(m, err)
			return
		}
		m.peer = p
		ni.pending.Add(1)
		if p.send(m) {
			return
		}
		ni.ended()
	}
}

// address fills in what lnet decides: the source, which for an answer is the NID that
// was asked, and the next hop, whose connections the driver takes. An answer goes back
// by those that brought the request. The header, which is the sender's own claim, does
// not decide about that.
func (n *Node) address(m *Message, ni *NI) {
	h := &m.Header
	m.ni = ni
	h.SrcNID, h.SrcPID = ni.nid, n.cfg.PID
	if ni.isLo() && !h.DestNID.IsLo() {
		// Through lo under a real NID: both ends keep the name that the
		// caller used, so that match ids and events speak of it.
		h.SrcNID = h.DestNID
	}
	if h.DestPID == nid.PIDAny || h.DestPID == 0 {
		h.DestPID = nid.LustrePID
	}
	if m.Answers != nil {
		m.Target = m.Asker
		return
	}
	m.Target = nid.ProcessID{NID: h.DestNID, PID: h.DestPID}
}

// pathTo chooses the NI for a destination. A message to one of the node's own
// NIDs goes through lo, and by no other NI: it would be refused on arrival.
func (n *Node) pathTo(dst, src nid.NID) (*NI, error) {
	if !dst.IsValid() || dst.IsAny() {
		return nil, syscall.EINVAL
	}
	if src.IsAny() {
		src = nid.NID{}
	}
	var pinned *NI
	if src.IsValid() {
		if pinned = n.niByNID(src); pinned == nil {
			return nil, syscall.EINVAL
		}
	}
	if dst.IsLo() || n.niByNID(dst) != nil {
		if lo := n.niByNID(nid.Lo0()); lo != nil {
			return lo, nil
		}
		return nil, fmt.Errorf("%v is here, and this node has no loopback NI: %w", dst, syscall.EHOSTUNREACH)
	}
	if pinned != nil {
		if !pinned.reaches(dst) {
			return nil, fmt.Errorf("%v from %v: %w", dst, src, syscall.EHOSTUNREACH)
		}
		return pinned, nil
	}
	for _, ni := range *n.nis.Load() {
		if ni.reaches(dst) {
			return ni, nil
		}
	}
	return nil, fmt.Errorf("no NI on %v: %w", dst.Net(), syscall.EHOSTUNREACH)
}

// detour sends a message whose destination cannot be reached, for the reason
// why, to the first NID of the same node that can be.
func (n *Node) detour(m *Message, why error) (*NI, error) {
	known := n.peers.knownAs(m.Header.DestNID)
	if known == nil || !errors.Is(why, syscall.EHOSTUNREACH) {
		return nil, why
	}
	for _, there := range known.NIs {
		if there.Status == wire.StatusDown {
			continue
		}
		if ni, err := n.pathTo(there.NID, m.Source); err == nil {
			m.Header.DestNID = there.NID
			return ni, nil
		}
	}
	return nil, why
}

// reaches reports whether dst is on the NI's own net and both NIDs fit the
// same header: an IPv6-sized NI cannot speak to an IPv4-sized NID. The only NID
// that lo reaches is 0@lo: a peer that lists another one is not this node.
func (ni *NI) reaches(dst nid.NID) bool {
	return ni.cfg.Net == dst.Net() && ni.nid.Is4() == dst.Is4() && (!ni.isLo() || dst.IsLo())
}

func (ni *NI) isLo() bool { return ni.nid.IsLo() }
