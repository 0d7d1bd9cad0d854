package engine

import (
	"cmp"
	"slices"

	"ulnet/scoll/wire"
)

// GroupState is the state of a group at a node.
type GroupState struct {
	ID       wire.GroupID   // id of the group, the same on all members
	Service  wire.ServiceID // the service that the group is for
	Nodes    int            // number of members
	Entities int            // number of entities on all members
	Tree     wire.Tree      // type of tree and its K
	Creator  bool           // this node has created the group
	Complete bool           // this node created it, and all members know it
	InFlight int            // number of the group's broadcasts at this node
}

// Groups lists the groups, sorted by creator and then by number.
func (m *Machine) Groups() []GroupState {
	list := make([]GroupState, 0, len(m.table.list))
	for _, g := range m.table.list {
		list = append(list, GroupState{
			ID: g.key.id, Service: g.key.service, Nodes: g.members.Len(), Entities: g.members.Entities(), Tree: g.tree,
			Creator: g.creator, Complete: g.creator && g.complete, InFlight: g.inFlight,
		})
	}
	slices.SortFunc(list, func(a, b GroupState) int {
		return cmp.Or(
			a.ID.Creator.Compare(b.ID.Creator), cmp.Compare(a.ID.Incarnation, b.ID.Incarnation),
			cmp.Compare(a.ID.Index, b.ID.Index), cmp.Compare(a.Service, b.Service),
		)
	})
	return list
}
