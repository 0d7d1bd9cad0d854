package socklnd

import "ulnet/lnet/nid"

// ClosePeer ends the connections to the processes at a NID. lnet calls it when it has found out
// that a peer is down, as it does for gateways (lnet_notify_peer_down). Messages to the peer fail,
// and the next one dials anew.
func (ni *NI) ClosePeer(id nid.NID, incarnation uint64, cause error) {
	for _, p := range ni.peers.All() {
		if p.id.NID != id {
			continue
		}
		p.mu.Lock()
		if len(p.conns) > 0 && (incarnation == 0 || p.set.incarnation == incarnation) {
			p.step(setInput{kind: setClosed, err: newError(PeerClosed, p.id, cause)})
		}
		p.unlock()
	}
}
