package healthsim

import (
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario/kit"
)

// kind tells messages apart.
type kind uint8

const (
	ofHealth kind = iota // between clients and servers, and digests
	evictRequest
	evictReply
	traffic // what other programs of a client's node exchange with servers, and the answer
	ofGossip
	ofGossipReply
)

// message is one on its way. What it refers to is not changed any more.
type message struct {
	kind        kind
	incarnation uint64 // of the node that sent it
	data        []byte
	key         relayKey     // of evictions
	members     []sim.NodeID // of a request: its tree, the root first
	missing     []sim.NodeID // of a reply: who did not answer
}

// size is what a message takes on the wire, about.
func (m *message) size() int { return len(m.data) + 8*len(m.missing) + 16 }

// hash is a digest of a message.
func hash(m **message) uint64 {
	if *m == nil {
		return 0
	}
	h := kit.Digest(uint64((*m).kind)+1, (*m).data)
	return kit.Mix(h, uint64((*m).key.root)<<32^(*m).key.number)
}
