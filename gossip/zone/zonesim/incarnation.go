package zonesim

import (
	"ulnet/gossip/zone/engine"
	"ulnet/gossip/zone/wire"
	"ulnet/lnd/sim"
)

// incarnation is a node's latest incarnation, for conditions and checks: a bare machine, or
// an agent on a whole stack.
type incarnation interface {
	status() engine.Status
	has(i int) (wire.Version, bool)
	attributes(i int) []wire.Attribute
	census() []engine.CensusEntry
	delegation() engine.DelegationStatus
}

// member is what machines and stacks on a node have in common. Members of its zone are
// numbered as in the group.
type member struct {
	net   *Net
	id    sim.NodeID
	group *group
	heard listener // checks the order of the events, with Config.Check
	// missed are the nodes that a monitor has reported as down, with their incarnations.
	missed map[sim.NodeID]uint64
}

func (p *program) has(i int) (wire.Version, bool) { return p.m.Has(p.group.refs[i]) }

func (p *program) attributes(i int) []wire.Attribute {
	list, _ := p.m.Attributes(p.group.refs[i])
	return list
}

func (p *program) status() engine.Status               { return p.m.Status() }
func (p *program) census() []engine.CensusEntry        { return p.m.Census() }
func (p *program) delegation() engine.DelegationStatus { return p.m.Delegation() }

// about returns the number of the member that an event is about, -1 if it is not about a
// member.
func (p *member) about(e *engine.Event) int {
	if !p.net.cfg.Stacks {
		return p.group.at(e.Node)
	}
	id, ok := p.net.nodeOf(e.ID) // nodes are compared by id, because an agent has a table of its own
	if !ok || !p.group.has(id) {
		return -1
	}
	return int(id - p.group.first)
}

// self returns the node's own number as a member.
func (p *member) self() int {
	if p.group.base > 0 {
		return p.group.best
	}
	return int(p.id - p.group.first)
}
