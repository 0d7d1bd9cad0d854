package engine

import (
	"cmp"
	"slices"

	"ulnet/scoll/wire"
)

// GroupState is what a node knows of a group.
type GroupState struct {
	ID       wire.GroupID
	Service  wire.ServiceID
	Nodes    int
	Entities int
	Tree     wire.Tree
	Creator  bool // it was made here
	Complete bool // made here, and all members know it
	InFlight int  // broadcasts at this node
}

// Groups lists the groups in the order of their creator, then their number.
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
