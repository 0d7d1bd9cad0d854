package engine

import (
	"errors"
	"fmt"

	"ulnet/scoll/rmcast/wire"
)

// ErrNoManager says that no manager of a group has answered.
var ErrNoManager = wrong("no manager of the group answers")

// Members returns the members of the newest version, in the order of their numbers.
func (m *Machine) Members() (list []wire.Member, err error) {
	r := m.group.latest()
	switch {
	case m.state == joining:
		return nil, ErrNotYet
	case r == nil || m.state == out:
		return nil, ErrNotMember
	}
	if errors.Is(m.refusal, ErrQuorum) {
		err = ErrQuorum
	}
	return r.members(), err
}

// Unheard adds to an error why managers take no notice of this node, if they do not.
func (m *Machine) Unheard(err error) error {
	switch {
	case m.refusal != nil:
		return fmt.Errorf("%w: %w", err, m.refusal)
	case m.unanswered >= rotateAfter, m.state == joining && !m.manager.IsValid():
		return fmt.Errorf("%w: %w: %v; do they run, and Manage group %d?", err, ErrNoManager, m.cfg.Managers, m.cfg.Group)
	}
	return err
}

// Farewell returns what tells the managers that this incarnation is over, if they count on it: the
// node may live on, so that nobody else tells them. There is nothing to tell while Over is false.
func (m *Machine) Farewell() (over bool, o wire.Order) {
	return m.state == out, wire.Order{Kind: wire.OrderReport, Group: m.cfg.Group, Epoch: m.epoch, Incarnation: m.self.Incarnation + 1}
}
