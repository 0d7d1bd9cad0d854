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

// compose returns a message of two parts, signed if there are keys.
func (a *Agent) compose(portal int, bind keyring.Binding, head, data []byte) *outgoing {
	m := a.outbox.New()
	m.Data = a.sign(portal, append(append(m.Data, head...), data...), bind)
	return m
}

// multicast sends a datagram to a group. LNet does not acknowledge it.
func (a *Agent) multicast(group GroupID, head, data []byte) {
	var bind keyring.Binding
	if a.signer.On() {
		bind = toGroup(a.cfg.Self, portals.Group(group))
	}
	a.outbox.PutMulticast(a.compose(wire.DataPortal, bind, head, data), portals.PutMulticastRequest{
		Self: a.cfg.Self, Group: portals.Group(group), Portal: wire.DataPortal,
	})
}

// put sends a message to one node.
func (a *Agent) put(to nid.NID, portal int, priority bool, head, data []byte) {
	var bind keyring.Binding
	if a.signer.On() {
		bind = keyring.Between(a.cfg.Self, to)
	}
	m := a.compose(portal, bind, head, data)
	m.Priority = priority
	a.outbox.Put(m, portals.PutRequest{Self: a.cfg.Self, Target: nid.ProcessID{NID: to, PID: a.pid}, Portal: portal})
}
