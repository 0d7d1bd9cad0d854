package fault

import (
	"syscall"

	"ulnet/lnd"
	"ulnet/lnet/nid"
)

var _ lnd.Multicaster = (*netIf)(nil)

// GroupNID implements lnd.Multicaster.
func (ni *netIf) GroupNID(g lnd.Group) nid.NID {
	if ni.caster == nil {
		return nid.NID{}
	}
	return ni.caster.GroupNID(g)
}

// MulticastLimits implements lnd.Multicaster: the zero value if the driver has no
// multicast.
func (ni *netIf) MulticastLimits() lnd.MulticastLimits {
	if ni.caster == nil {
		return lnd.MulticastLimits{}
	}
	return ni.caster.MulticastLimits()
}

// Join implements lnd.Multicaster.
func (ni *netIf) Join(g lnd.Group) error {
	if ni.caster == nil {
		return syscall.EOPNOTSUPP
	}
	return ni.caster.Join(g)
}

// Leave implements lnd.Multicaster.
func (ni *netIf) Leave(g lnd.Group) error {
	if ni.caster == nil {
		return syscall.EOPNOTSUPP
	}
	return ni.caster.Leave(g)
}

// Multicast implements lnd.Multicaster. What is lost here is lost for all members.
func (ni *netIf) Multicast(m *lnd.Message) { ni.Send(m) }

// LinkUp implements lnd.LinkFollower.
func (ni *netIf) LinkUp() {
	if f, ok := ni.lower.(lnd.LinkFollower); ok {
		f.LinkUp()
	}
}

// give gives m to the driver as a unicast or multicast message.
func (ni *netIf) give(m *lnd.Message) {
	switch {
	case m.Group == 0:
		ni.lower.Send(m)
	case ni.caster == nil:
		(*upward)(ni).Finalize(m, syscall.EOPNOTSUPP)
	default:
		ni.caster.Multicast(m)
	}
}

// receiver returns the NID to which this NI sends a message, or no NID if the message goes to a group.
func receiver(m *lnd.Message) nid.NID {
	if m.Group != 0 {
		return nid.NID{}
	}
	return m.Header.DestNID
}

// reached is the NID of this node at which a message has arrived.
func (ni *netIf) reached(d *lnd.Delivery) nid.NID {
	if d.Group != 0 {
		return ni.nid
	}
	return d.Header.DestNID
}
