package portals

import (
	"log/slog"
	"slices"
	"sync"
	"syscall"

	"ulnet/lnet"
	"ulnet/lnet/nid"
)

// memberships are the groups that users of a table have joined. They outlive NIs: an NI that is removed leaves its
// groups, and the one that takes its place joins them.
type memberships struct {
	mu       sync.Mutex
	joins    []membership // one for each JoinGroup that was not undone; guarded by mu, like watching
	watching bool         // the node reports changes of its NIs to the table
}

// membership is one successful JoinGroup.
type membership struct {
	self   nid.NID  // the NID that the user gave; Any: the first with multicast
	group  Group    // group that was joined
	portal uint32   // index of the portal for which it was joined
	ni     *lnet.NI // the NI that has joined the group; nil: none at present
}

// joinGroup joins a group at an NI for a portal.
func (t *Table) joinGroup(self nid.NID, g Group, portal int) error {
	if t.portal(portal) == nil {
		return syscall.EINVAL
	}
	m := &t.joined
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.watching {
		m.watching = true
		t.node.OnNIChange(t.rejoin)
	}
	ni, err := t.multicastNI(self, g)
	if err == nil {
		err = ni.JoinGroup(g, uint32(portal))
	}
	if err == nil {
		m.joins = append(m.joins, membership{orAny(self), g, uint32(portal), ni})
	}
	return err
}

// leaveGroup undoes a joinGroup with the same arguments, or else one at the NI that has this NID.
func (t *Table) leaveGroup(self nid.NID, g Group, portal int) error {
	m := &t.joined
	m.mu.Lock()
	defer m.mu.Unlock()
	ni, err := t.multicastNI(self, g)
	same := func(e *membership) bool { return e.group == g && int(e.portal) == portal }
	i := slices.IndexFunc(m.joins, func(e membership) bool { return same(&e) && e.self == orAny(self) })
	if i < 0 && err == nil {
		i = slices.IndexFunc(m.joins, func(e membership) bool { return same(&e) && e.ni == ni })
	}
	switch {
	case i >= 0:
		ni = m.joins[i].ni
		m.joins = slices.Delete(m.joins, i, i+1)
		if ni == nil {
			return nil
		}
	case err != nil:
		return err
	}
	return ni.LeaveGroup(g, uint32(portal))
}

// rejoin makes memberships follow the NIs: it is called when these have changed.
func (t *Table) rejoin() {
	m := &t.joined
	m.mu.Lock()
	defer m.mu.Unlock()
	nis := t.node.NIs()
	for i := range m.joins {
		e := &m.joins[i]
		ni, err := t.node.MulticastNI(e.self)
		if err == nil && ni == e.ni {
			continue
		}
		if slices.Contains(nis, e.ni) { // another NI is now the first with multicast
			_ = e.ni.LeaveGroup(e.group, e.portal)
		}
		if e.ni = nil; err != nil {
			continue // the NI is being replaced, or is gone for good
		}
		if err := ni.JoinGroup(e.group, e.portal); err != nil {
			t.node.Log().Warn("an NI cannot join a multicast group that an earlier one had joined", slog.Any("ni", ni.NID()), slog.Any("group", e.group), slog.Any("err", err))
			continue
		}
		e.ni = ni
	}
}

func orAny(self nid.NID) nid.NID {
	if !self.IsValid() {
		return nid.Any()
	}
	return self
}
