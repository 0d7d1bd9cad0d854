package lnet

import (
	"sync/atomic"

	"ulnet/lnet/nid"
)

// recentPeers remembers peers of an NI that were looked for lately, so that most messages find their
// peer without the lock of the table, which all cores share. It is a direct-mapped cache: each
// NID has one slot, which keeps the latest peer.
type recentPeers [16]atomic.Pointer[peerNI]

func (r *recentPeers) slot(id *nid.NID) *atomic.Pointer[peerNI] { return &r[id.Hash()%uint32(len(r))] }

// find returns the peer with a NID if it is remembered, or nil.
func (r *recentPeers) find(id *nid.NID) *peerNI {
	if p := r.slot(id).Load(); p != nil && p.nid == *id {
		return p
	}
	return nil
}

// note remembers a peer that is in the table.
func (r *recentPeers) note(p *peerNI) { r.slot(&p.nid).Store(p) }

// forget forgets a peer that was removed from the table.
func (r *recentPeers) forget(p *peerNI) { r.slot(&p.nid).CompareAndSwap(p, nil) }
