package lnet

import (
	"cmp"
	"fmt"
	"slices"
	"syscall"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// membership counts the JoinGroup calls for a group at an NI.
type membership struct {
	group   lnd.Group
	members int
}

// GroupSnapshot is a group that was joined at an NI.
type GroupSnapshot struct {
	Group   lnd.Group `json:"group"`   // number of the group
	NID     nid.NID   `json:"nid"`     // NID that stands for the group in headers
	Members int       `json:"members"` // how many calls of JoinGroup have had no LeaveGroup yet
}

// MulticastNI returns the NI by which datagrams to groups go: the one with the
// NID src, or for a zero or Any src the first that has multicast.
//
//	EINVAL      src is no NID of this node
//	EOPNOTSUPP  no NI has multicast, or the one with the NID src has not (errors.ErrUnsupported)
func (n *Node) MulticastNI(src nid.NID) (*NI, error) {
	if src.IsValid() && !src.IsAny() {
		ni := n.niByNID(src)
		switch {
		case ni == nil:
			return nil, syscall.EINVAL
		case ni.caster == nil:
			return nil, fmt.Errorf("no multicast on %v: %w", ni.cfg.Net, syscall.EOPNOTSUPP)
		}
		return ni, nil
	}
	for _, ni := range *n.nis.Load() {
		if ni.caster != nil {
			return ni, nil
		}
	}
	return nil, fmt.Errorf("no NI has multicast: %w", syscall.EOPNOTSUPP)
}

// GroupNID is the NID that stands for a group in headers, for an NI of
// [Node.MulticastNI].
func (ni *NI) GroupNID(g lnd.Group) nid.NID { return ni.caster.GroupNID(g) }

// MulticastLimits returns the bounds of a datagram of the NI; the zero value if it has no
// multicast.
func (ni *NI) MulticastLimits() lnd.MulticastLimits {
	if ni.caster == nil {
		return lnd.MulticastLimits{}
	}
	return ni.caster.MulticastLimits()
}

// JoinGroup makes the NI receive datagrams that others send to a group, until LeaveGroup has
// been called as many times. An NI that is removed leaves all its groups.
//
//	EINVAL      there is no such group
//	EOPNOTSUPP  the NI has no multicast (errors.ErrUnsupported)
//	ESHUTDOWN   the NI is going down
//
// Other errors are those of the driver.
func (ni *NI) JoinGroup(g lnd.Group) error {
	switch {
	case !g.IsValid():
		return syscall.EINVAL
	case ni.caster == nil:
		return syscall.EOPNOTSUPP
	}
	ni.joining.Lock()
	defer ni.joining.Unlock()
	if i := ni.findGroup(g); i >= 0 {
		ni.groups[i].members++
		return nil
	}
	if err := ni.caster.Join(g); err != nil {
		return err
	}
	ni.groups = append(ni.groups, membership{g, 1})
	return nil
}

// LeaveGroup undoes one JoinGroup. ENOENT: there is no JoinGroup to undo.
func (ni *NI) LeaveGroup(g lnd.Group) error {
	ni.joining.Lock()
	defer ni.joining.Unlock()
	i := ni.findGroup(g)
	switch {
	case i < 0:
		return syscall.ENOENT
	case ni.groups[i].members > 1:
		ni.groups[i].members--
		return nil
	}
	ni.groups = slices.Delete(ni.groups, i, i+1)
	return ni.caster.Leave(g)
}

// findGroup returns the index of a group, or -1. The caller holds joining.
func (ni *NI) findGroup(g lnd.Group) int {
	return slices.IndexFunc(ni.groups, func(m membership) bool { return m.group == g })
}

func (ni *NI) groupSnapshot() (list []GroupSnapshot) {
	ni.joining.Lock()
	defer ni.joining.Unlock()
	for _, m := range ni.groups {
		list = append(list, GroupSnapshot{m.group, ni.caster.GroupNID(m.group), m.members})
	}
	slices.SortFunc(list, func(a, b GroupSnapshot) int { return cmp.Compare(a.Group, b.Group) })
	return list
}

// multicast sends m to its group. It needs no peer credit and no discovery, because there is
// no peer.
func (n *Node) multicast(m *Message) {
	ni, err := n.MulticastNI(m.Source)
	if err != nil {
		n.finish(m, err)
		return
	}
	h := &m.Header
	h.SrcNID, h.SrcPID = ni.nid, n.cfg.PID
	h.DestNID, h.DestPID = ni.caster.GroupNID(m.Group), nid.LustrePID
	m.Target = nid.ProcessID{NID: h.DestNID, PID: h.DestPID}
	m.ni = ni
	ni.pending.Add(1)
	ni.caster.Multicast(&m.Message)
}

// parseGroup is Parse for a datagram. Any host on the net may have sent it, so it
// makes no peer known, is no proof that its sender runs, and ends no
// connection.
func (ni *NI) parseGroup(d *lnd.Delivery) {
	d.Cache = nil
	if p := ni.node.peers.find(d.From.NID, ni); p != nil {
		d.Cache = p
	}
	d.Primary = ni.primaryOf(d)
	why := ni.inspectGroup(&d.Header)
	if why == NotDropped {
		why = ni.checkSource(d)
	}
	if why == NotDropped && ni.node.failing.hits(&d.Header.SrcNID) {
		why = SimulatedFailure
	}
	if why == NotDropped {
		_, why = ni.node.upper.Arrive(ni, d)
	}
	if why != NotDropped {
		ni.drop(d, why)
	}
}

// inspectGroup checks the header of a multicast datagram.
func (ni *NI) inspectGroup(h *wire.Header) DropReason {
	switch {
	case h.Validate() != nil || h.Type != wire.Put || !h.Put().AckMD.IsNone():
		return NoMulticast
	case !h.SrcNID.IsValid() || h.SrcNID.IsAny() || !ni.reaches(h.SrcNID) || ni.node.niByNID(h.SrcNID) != nil:
		return BadSource
	}
	return NotDropped
}
