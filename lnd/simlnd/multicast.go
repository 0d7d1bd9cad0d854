package simlnd

import (
	"slices"
	"syscall"

	"ulnet/lnd"
	"ulnet/lnd/sim"
	"ulnet/lnet/nid"
)

// defaultDatagram is the default of Config.Datagram.
const defaultDatagram = 8 << 10

// Group x*256+y has the address 239.0.x.y.
const groupBase = 239 << 24

var _ lnd.Multicaster = (*ni)(nil)

// groupKey names a group on one net and rail: datagrams reach only NIs on the same rail number.
type groupKey struct {
	net   nid.Net
	rail  Rail
	group lnd.Group
}

// GroupNID implements lnd.Multicaster.
func (n *ni) GroupNID(g lnd.Group) nid.NID { return nid.FromNumber(n.net, groupBase|uint32(g)) }

// MulticastLimits implements lnd.Multicaster. Config.Inbox bounds the datagrams that wait to be
// read.
func (n *ni) MulticastLimits() lnd.MulticastLimits {
	cfg := &n.host.fabric.cfg
	if cfg.Datagram < 0 {
		return lnd.MulticastLimits{}
	}
	return lnd.MulticastLimits{MaxPayload: cfg.Datagram, ReceiveBuffer: cfg.Inbox * (2*cfg.Datagram + 1024)}
}

// Join implements lnd.Multicaster.
func (n *ni) Join(g lnd.Group) error {
	h := n.host
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case !g.IsValid():
		return syscall.EINVAL
	case h.fabric.cfg.Datagram < 0:
		return syscall.EOPNOTSUPP
	case n.closed:
		return syscall.ESHUTDOWN
	case !slices.Contains(n.groups, g):
		n.groups = append(n.groups, g)
		h.fabric.enter(groupKey{n.net, n.rail, g}, h.incarnation.Node)
	}
	return nil
}

// Leave implements lnd.Multicaster.
func (n *ni) Leave(g lnd.Group) error {
	h := n.host
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := slices.Index(n.groups, g); i >= 0 {
		n.groups = slices.Delete(n.groups, i, i+1)
		h.fabric.quit(groupKey{n.net, n.rail, g}, h.incarnation.Node)
	}
	return nil
}

// leaveAll ends all memberships. The caller holds the host's lock.
func (n *ni) leaveAll() {
	for _, g := range n.groups {
		n.host.fabric.quit(groupKey{n.net, n.rail, g}, n.host.incarnation.Node)
	}
	n.groups = nil
}

// Multicast implements lnd.Multicaster.
func (n *ni) Multicast(m *lnd.Message) { n.Send(m) }

// cast sends a datagram to the members of its group, in the order of their
// numbers.
func (n *ni) cast(m *lnd.Message) {
	h, limit := n.host, n.host.fabric.cfg.Datagram
	switch {
	case limit < 0:
		n.up.Finalize(m, syscall.EOPNOTSUPP)
		return
	case m.Payload.Length > limit:
		n.up.Finalize(m, syscall.EMSGSIZE)
		return
	}
	pk := newPacket(m.Payload.Length) // several receivers share the packet: it is not reused
	pk.fill(m)
	pk.kind, pk.net, pk.pid, pk.group, pk.from, pk.to = packetCast, n.net, n.pid, m.Group, n.rail, n.rail
	pk.digest = pk.hash()
	first := true
	for _, to := range h.fabric.membersOf(groupKey{n.net, n.rail, m.Group}) {
		if to == h.incarnation.Node || h.fabric.severed(peerKey{h.incarnation.Node, n.rail}, peerKey{to, n.rail}) {
			continue
		}
		h.put(sim.Send[*packet]{To: to, Msg: pk, Size: pk.size(), Priority: m.Priority, Copy: !first})
		first = false
	}
	n.up.Finalize(m, nil)
}

// caught handles a datagram that arrives. A host that has left the group since the datagram was sent,
// or was restarted, gets nothing.
func (n *ni) caught(from sim.NodeID, pk *packet) {
	h := n.host
	h.mu.Lock()
	member := slices.Contains(n.groups, pk.group)
	h.mu.Unlock()
	if !member {
		return
	}
	d := h.fabric.takeDelivery()
	d.Header, d.Group, d.ReceivedAt = pk.header, pk.group, h.Clock().Now()
	d.From = nid.ProcessID{NID: NIDOn(n.net, from, pk.from), PID: pk.pid}
	d.Incarnation = 0
	if answer, err := n.up.Parse(&d.Delivery); answer == lnd.Accept && err == nil {
		d.Sink.CopyIn(pk.data)
		n.up.Delivered(&d.Delivery, nil)
	}
	h.fabric.putDelivery(d)
}

// enter adds a host to a group. Lists of members never change once they are
// in the map.
func (f *Fabric) enter(k groupKey, id sim.NodeID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.members[k]
	if i, found := slices.BinarySearch(list, id); !found {
		f.members[k] = slices.Insert(slices.Clone(list), i, id)
	}
}

func (f *Fabric) quit(k groupKey, id sim.NodeID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.remove(k, id)
}

// remove does the work of quit: it takes a host out of a group. The caller holds f.mu.
func (f *Fabric) remove(k groupKey, id sim.NodeID) {
	list := f.members[k]
	i, found := slices.BinarySearch(list, id)
	switch {
	case !found:
	case len(list) == 1:
		delete(f.members, k)
	default:
		f.members[k] = slices.Delete(slices.Clone(list), i, i+1)
	}
}

// forget ends the memberships of a host's earlier incarnation.
func (f *Fabric) forget(id sim.NodeID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for k := range f.members { // any order: groups are independent
		f.remove(k, id)
	}
}

func (f *Fabric) membersOf(k groupKey) []sim.NodeID {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.members[k]
}
