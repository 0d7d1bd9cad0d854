package engine

import (
	"errors"
	"fmt"

	"ulnet/scoll/rmcast/wire"
)

// ErrNoManager says that no manager of a group has answered.
var ErrNoManager = wrong("no manager of the group answers")

// Members returns the members on the newest list, in the order of their numbers.
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

// Unheard wraps an error with the reason why managers do not answer this node, if it is known.
func (m *Machine) Unheard(err error) error {
	switch {
	case m.refusal != nil:
		return fmt.Errorf("%w: %w", err, m.refusal)
	case m.unanswered >= rotateAfter, m.state == joining && !m.manager.IsValid():
		return fmt.Errorf("%w: %w: %v; do they run, and Manage group %d?", err, ErrNoManager, m.cfg.Managers, m.cfg.Group)
	}
	return err
}

// Farewell returns the order that tells managers that this incarnation has ended. No other
// source reports that, because the node itself may go on running. The result over is
// true if this node is not a member any more and its manager knows that, so the order need not be sent. The
// manager does not know it if the member gave up by itself. If the manager has expelled the member, it may still wait for
// the report that the member has ended.
func (m *Machine) Farewell() (over bool, o wire.Order) {
	return m.state == out && !m.untold, wire.Order{Kind: wire.OrderReport, Group: m.cfg.Group, Epoch: m.epoch, Incarnation: m.self.Incarnation + 1}
}
