package rmcastsim

import (
	"testing"

	"ulnet/lnd/sim"
	"ulnet/scoll/rmcast"
	"ulnet/scoll/rmcast/engine"
)

// TestExcuses: the ledger accepts that a node is left behind only for a while after a fault of that node or its links,
// not after a fault of another node. Node 0 is the manager.
func TestExcuses(t *testing.T) {
	finds(t, []deed{
		{"a live member that joined again", "which lives", func(n *Net, m *Message) {
			id := n.id(2)
			n.nodes[2].incarnation++
			n.ledger.failed(m, id)
		}},
		{"a member that was paused long ago", "which lives", func(n *Net, m *Message) {
			n.Pause(2)
			n.Resume(2)
			n.Cut(sim.Nodes(2), sim.Nodes(0))
			n.Heal()
			m.Sent = n.Now() + n.grace() + 1
			n.ledger.failed(m, n.id(2))
		}},
		{"a member that was paused a while ago", "", func(n *Net, m *Message) {
			n.Pause(2)
			n.Resume(2)
			m.Sent = n.Now() + n.grace()
			n.ledger.failed(m, n.id(2))
		}},
		{"a member that was cut off from a manager", "", func(n *Net, m *Message) {
			n.Cut(sim.Nodes(0), sim.Nodes(2))
			n.ledger.failed(m, n.id(2))
		}},
		{"a member on the side of the manager", "which lives", func(n *Net, m *Message) {
			n.Partition(sim.Nodes(0, 2), sim.Nodes(1, 3))
			n.ledger.failed(m, n.id(2))
		}},
		{"a member that gave up without need", "gave its membership up", func(n *Net, m *Message) { n.ledger.healed(2, 1) }},
		{"a member that gave up, as its manager was paused", "", func(n *Net, m *Message) {
			n.Pause(0)
			n.ledger.healed(2, 1)
		}},
		{"a message of a member that is fine is lost", "is fine is lost", func(n *Net, m *Message) { n.ledger.ended(m, engine.ErrExpelled) }},
		{"a message of a member that is fine is refused", "is fine is lost", func(n *Net, m *Message) { n.ledger.ended(m, engine.ErrNotMember) }},
		{"a short message is too long", "is fine is lost", func(n *Net, m *Message) { n.ledger.ended(m, engine.ErrTooLong) }},
		{"a message of a paused member is lost", "", func(n *Net, m *Message) {
			n.Pause(1)
			n.ledger.ended(m, engine.ErrExpelled)
		}},
		{"a message of a member that leaves is lost", "", func(n *Net, m *Message) {
			n.leaves(1, 0)
			n.ledger.ended(m, engine.ErrUnfinished)
		}},
		{"released after it was lost", "ends again", func(n *Net, m *Message) {
			n.leaves(1, 0)
			n.ledger.ended(m, engine.ErrUnfinished)
			n.ledger.released(m, rmcast.Result{}, nil)
		}},
	})
}
