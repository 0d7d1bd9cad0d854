package rmcast

import (
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/keyring"
	"ulnet/scoll/rmcast/wire"
)

// outgoing is a message that is being sent.
type outgoing = portals.Outgoing[struct{}]

// spareBytes bounds the memory of sent messages that is kept for reuse.
const spareBytes = 2 << 20

// Bounds of the messages on their way; local policy. A message beyond them counts as lost: the protocol repeats what
// matters. A node that reads nothing, or is dead, would otherwise make this node keep an answer for each of its messages,
// and many nodes that are not members would leave no room for answers to others. A member that reads slowly has far
// fewer messages on their way, because windows are small. Multicasts count as messages to one node.
var (
	memberBounds  = portals.OutboxConfig[struct{}]{PeerMessages: 1 << 14, PeerBytes: 64 << 20, Spare: spareBytes}
	refusalBounds = portals.OutboxConfig[struct{}]{PeerMessages: 1024, OwnMessages: 32, MaxMessages: 1 << 15}
)

// compose returns a message of two parts to be sent by an outbox. It is signed if there are keys.
func (a *Agent) compose(by *portals.Outbox[struct{}], portal int, bind keyring.Binding, head, data []byte) *outgoing {
	m := by.New()
	m.Data = a.sign(portal, append(append(m.Data, head...), data...), bind)
	return m
}

// multicast sends a datagram to a group. LNet does not acknowledge it.
func (a *Agent) multicast(group GroupID, head, data []byte) {
	var bind keyring.Binding
	if a.signer.On() {
		bind = toGroup(a.cfg.Self, portals.Group(group))
	}
	a.outbox.PutMulticast(a.compose(&a.outbox, wire.DataPortal, bind, head, data), portals.PutMulticastRequest{
		Self: a.cfg.Self, Group: portals.Group(group), Portal: wire.DataPortal,
	})
}

// put sends a message to one node by an outbox.
func (a *Agent) put(by *portals.Outbox[struct{}], to nid.NID, portal int, priority bool, head, data []byte) {
	var bind keyring.Binding
	if a.signer.On() {
		bind = keyring.Between(a.cfg.Self, to)
	}
	m := a.compose(by, portal, bind, head, data)
	m.Priority = priority
	by.Put(m, portals.PutRequest{Self: a.cfg.Self, Target: nid.ProcessID{NID: to, PID: a.pid}, Portal: portal})
}
