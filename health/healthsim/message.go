package healthsim

import (
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario/kit"
)

// kind tells messages apart.
type kind uint8

const (
	ofHealth kind = iota // messages of client health, digests included
	evictRequest
	evictReply
	traffic // a message between a server and another program on a client's node
	ofGossip
	ofGossipReply
)

// message is a message in flight. Neither the message nor the memory to which it refers is
// modified.
type message struct {
	kind        kind
	incarnation uint64 // incarnation of the node that sent the message
	data        []byte
	key         relayKey     // key of the broadcast, in requests and replies of evictions
	members     []sim.NodeID // in a request: the members of the broadcast's tree, the root first
	missing     []sim.NodeID // in a reply: the servers that did not answer
}

// size is the approximate size of a message on the wire in bytes.
func (m *message) size() int { return len(m.data) + 8*len(m.missing) + 16 }

// hash is a digest of a message.
func hash(m **message) uint64 {
	if *m == nil {
		return 0
	}
	h := kit.Digest(uint64((*m).kind)+1, (*m).data)
	return kit.Mix(h, uint64((*m).key.root)<<32^(*m).key.number)
}
