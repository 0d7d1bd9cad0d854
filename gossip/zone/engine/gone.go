package engine

import (
	"time"

	"ulnet/gossip/zone/wire"
)

// GoneStatus is a node of the history: a former member. A node that comes back leaves the
// history. The length of the history depends on the number of members (MS-A10); the oldest
// entries are dropped first.
type GoneStatus struct {
	ID      wire.ID       `json:"id,omitzero"`  // invalid: the node left before its id was known
	Version wire.Version  `json:"version"`      // the last version known of the node
	Ago     time.Duration `json:"ago"`          // time since this node removed it
	Orderly bool          `json:"orderly"`      // the node said goodbye, or an administrator removed it with a goodbye in its name
	Cause   Cause         `json:"cause"`        // why the node left: Said, Dead or Corrected
	Code    int32         `json:"code"`         // with Said: the exit code, CodeRemoved if an administrator removed the node
	By      []Witness     `json:"by,omitempty"` // the reporters of a member that was removed as dead
}

// Witness is a node that reported another one as failed.
type Witness struct {
	ID     wire.ID `json:"id"`     // id of the reporter
	Silent bool    `json:"silent"` // the reporter heard nothing of the node; false: its connections to the node broke or were refused
}

// maxWitnesses bounds the reporters that are kept of a former member. Θ reporters are enough to
// remove a member, and there may be many more.
const maxWitnesses = 8

// witnesses returns the nodes that reported a member, in the order of their reports.
func (m *Machine) witnesses(p wire.Ref) (list []Witness) {
	for _, r := range m.suspicions.on(p) {
		if (m.counts(r.by) || r.by == m.self) && len(list) < maxWitnesses {
			list = append(list, Witness{m.cfg.Table.ID(r.by), r.silent})
		}
	}
	return list
}

// History returns the former members, in the order in which they left.
func (m *Machine) History() (list []GoneStatus) {
	for _, d := range m.history.list {
		if m.history.current(d) {
			list = append(list, m.gone(d.ref))
		}
	}
	return list
}

// gone returns what is known of a node of the history.
func (m *Machine) gone(p wire.Ref) GoneStatus {
	e, f := m.view.at(p), m.history.of[p]
	return GoneStatus{
		ID: m.cfg.Table.ID(p), Version: e.version(), Ago: m.pauses.last - f.at,
		Orderly: e.orderly, Cause: f.cause, Code: f.code, By: f.by,
	}
}
