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

// membership is one call of JoinGroup that LeaveGroup has not undone.
type membership struct {
	group  lnd.Group
	portal uint32 // portal index that datagrams to the group may name
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

// JoinGroup makes the NI receive datagrams that others send to a portal index of a group, until
// LeaveGroup has been called as many times. Datagrams to the group that name a portal for which
// it was not joined are dropped ([NoMulticast]): the source of a datagram can be forged, and the
// users of other portals rely on the source. An NI that is removed leaves all its groups.
//
//	EINVAL      there is no such group
//	EOPNOTSUPP  the NI has no multicast (errors.ErrUnsupported)
//	ESHUTDOWN   the NI is going down
//
// Other errors are those of the driver.
func (ni *NI) JoinGroup(g lnd.Group, portal uint32) error {
	switch {
	case !g.IsValid():
		return syscall.EINVAL
	case ni.caster == nil:
		return syscall.EOPNOTSUPP
	}
	ni.joining.Lock()
	defer ni.joining.Unlock()
	joined := slices.Clone(*ni.groups.Load())
	if !inGroup(joined, g) {
		if err := ni.caster.Join(g); err != nil {
			return err
		}
	}
	joined = append(joined, membership{g, portal})
	ni.groups.Store(&joined)
	return nil
}

// LeaveGroup undoes one JoinGroup with the same arguments. ENOENT: there is no JoinGroup to undo.
func (ni *NI) LeaveGroup(g lnd.Group, portal uint32) error {
	ni.joining.Lock()
	defer ni.joining.Unlock()
	joined := slices.Clone(*ni.groups.Load())
	i := slices.Index(joined, membership{g, portal})
	if i < 0 {
		return syscall.ENOENT
	}
	joined = slices.Delete(joined, i, i+1)
	ni.groups.Store(&joined)
	if inGroup(joined, g) {
		return nil
	}
	return ni.caster.Leave(g)
}

// inGroup reports whether one of the memberships is of the group g.
func inGroup(joined []membership, g lnd.Group) bool {
	return slices.ContainsFunc(joined, func(m membership) bool { return m.group == g })
}

func (ni *NI) groupSnapshot() (list []GroupSnapshot) {
	for _, m := range *ni.groups.Load() {
		i := slices.IndexFunc(list, func(s GroupSnapshot) bool { return s.Group == m.group })
		if i < 0 {
			i = len(list)
			list = append(list, GroupSnapshot{Group: m.group, NID: ni.caster.GroupNID(m.group)})
		}
		list[i].Members++
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

// parseGroup is Parse for a datagram. Any host on the net may have sent it under any source. So it
// makes no peer known, is no proof that its sender runs, ends no connection, and reaches only portals
// for which its group was joined.
func (ni *NI) parseGroup(d *lnd.Delivery) {
	d.Cache = nil
	if p := ni.node.peers.find(d.From.NID, ni); p != nil {
		d.Cache = p
	}
	d.Primary = ni.primaryOf(d)
	why := ni.inspectGroup(d)
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
func (ni *NI) inspectGroup(d *lnd.Delivery) DropReason {
	h := &d.Header
	switch {
	case h.Validate() != nil || h.Type != wire.Put || !h.Put().AckMD.IsNone(),
		!slices.Contains(*ni.groups.Load(), membership{d.Group, h.Put().Portal}):
		return NoMulticast
	case !h.SrcNID.IsValid() || h.SrcNID.IsAny() || !ni.reaches(h.SrcNID) || ni.node.niByNID(h.SrcNID) != nil:
		return BadSource
	}
	return NotDropped
}
