package rmcastsim

import (
	"testing"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/scoll/rmcast"
	"ulnet/scoll/rmcast/engine"
)

// silence makes the ledger believe that the manager has not heard a node for some time, up to now.
func silence(n *Net, id sim.NodeID, lasts time.Duration) {
	n.nodes[id].begunAt = never
	n.paths[0][id].silent = outages{{n.Now() - lasts, n.Now()}}
}

// elected makes the ledger believe that the manager has just restarted.
func elected(n *Net) { n.paths[0][0].silent = outages{{n.Now() - time.Second, n.Now()}} }

// certain makes the ledger believe that the manager's gossip is certain that a node is dead.
func certain(n *Net, id sim.NodeID) {
	n.gossip.sights[0][id] = sight{known: true, dead: true, certain: true}
}

// elsewhere makes the ledger believe that a node has a new member, on a list with some others.
func elsewhere(n *Net, id sim.NodeID, others ...rmcast.Member) {
	member := n.id(id)
	member.Incarnation++
	n.ledger.list(rmcast.Version{Epoch: 1 << 30, Counter: 1}, append(others, rmcast.Member{ID: member}))
	n.nodes[id].incarnation = member.Incarnation
}

// TestExcuses: the ledger accepts that a member is left behind only if a manager has not heard it for member_timeout, or
// if a manager was elected and the member could not answer. Node 0 is the manager.
func TestExcuses(t *testing.T) {
	finds(t, []deed{
		{"a live member that joined again", "which lives", func(n *Net, m *Message) {
			id := n.id(2)
			n.nodes[2].incarnation++
			n.ledger.failed(m, id)
		}},
		{"a member that was paused for a moment", "which lives", func(n *Net, m *Message) {
			n.Pause(2)
			_ = n.Run(n.Now() + time.Second)
			n.Resume(2)
			n.ledger.failed(m, n.id(2))
		}},
		{"a member that was silent for too long", "", func(n *Net, m *Message) {
			silence(n, 2, 30*time.Second)
			n.ledger.failed(m, n.id(2))
		}},
		{"a member that was silent for too long, but long ago", "which lives", func(n *Net, m *Message) {
			silence(n, 2, 30*time.Second)
			m.Sent = n.Now() + n.takeovers() + 31*time.Second
			n.ledger.failed(m, n.id(2))
		}},
		{"a process that has begun meanwhile", "which lives", func(n *Net, m *Message) {
			silence(n, 2, 30*time.Second)
			n.nodes[2].begunAt = n.Now() - time.Second
			n.ledger.failed(m, n.id(2))
		}},
		{"a member that was cut off for a moment", "which lives", func(n *Net, m *Message) {
			n.Cut(sim.Nodes(0), sim.Nodes(2))
			n.ledger.failed(m, n.id(2))
		}},
		{"a member that was cut off when the manager was elected", "", func(n *Net, m *Message) {
			elected(n)
			n.Cut(sim.Nodes(0), sim.Nodes(2))
			n.ledger.failed(m, n.id(2))
		}},
		{"a member that answered when the manager was elected", "which lives", func(n *Net, m *Message) {
			elected(n)
			n.Partition(sim.Nodes(0, 2), sim.Nodes(1, 3))
			n.ledger.failed(m, n.id(2))
		}},
		{"a member that answered late when the manager was elected", "which lives", func(n *Net, m *Message) {
			elected(n)
			silence(n, 2, time.Second)
			n.ledger.failed(m, n.id(2))
		}},
		{"a member that answered too late when the manager was elected", "", func(n *Net, m *Message) {
			elected(n)
			silence(n, 2, 2*time.Second)
			n.ledger.failed(m, n.id(2))
		}},
		{"a member that gave up without need", "gave its membership up", func(n *Net, m *Message) { n.ledger.healed(2, 1) }},
		{"a member that gave up after a moment", "gave its membership up", func(n *Net, m *Message) {
			silence(n, 2, 5*time.Second)
			n.ledger.healed(2, 1)
		}},
		{"a member that gave up, as its manager was silent", "", func(n *Net, m *Message) {
			silence(n, 2, 10*time.Second)
			n.ledger.healed(2, 1)
		}},
	})
}

// TestExcusesOfStandby: a member that the active manager hears is not left behind because another manager does not hear
// it, unless that one may have been elected.
func TestExcusesOfStandby(t *testing.T) {
	n, err := New(Config{Network: scenario.Network{Nodes: 4}, Managers: 2})
	if err == nil {
		err = n.Form()
	}
	if err != nil {
		t.Fatal(err)
	}
	silence(n, 3, 30*time.Second)
	n.paths[0][3], n.paths[1][3] = path{}, n.paths[0][3]
	if n.mayExpel(3, n.Now()) {
		t.Error("the manager on standby excuses it")
	}
	if elected(n); !n.mayExpel(3, n.Now()) {
		t.Error("a manager was elected, and that is no excuse")
	}
}

// TestExcusesOfGossip: the ledger accepts a success without a live member only if the gossip of a manager was certain
// that its node is dead, and the manager did not hear the member.
func TestExcusesOfGossip(t *testing.T) {
	finds(t, []deed{
		{"a member that gossip is certain of, and the manager hears", "lives and has not delivered", func(n *Net, m *Message) {
			certain(n, 2)
			n.ledger.success(m, n.id(2))
		}},
		{"a member that gossip was certain of", "lives and has not delivered", func(n *Net, m *Message) {
			certain(n, 2)
			_ = n.Run(n.Now() + time.Millisecond/2)
			n.gossip.sights[0][2] = sight{known: true}
			silence(n, 2, 3*time.Second)
			n.ledger.success(m, n.id(2))
		}},
		{"a member that gossip is certain of, and the manager does not hear", "", func(n *Net, m *Message) {
			certain(n, 2)
			silence(n, 2, 3*time.Second)
			n.ledger.success(m, n.id(2))
		}},
		{"a member that gossip is certain of, and the manager did not hear a moment ago", "", func(n *Net, m *Message) {
			certain(n, 2)
			silence(n, 2, 3*time.Second)
			_ = n.Run(n.Now() + time.Millisecond/2)
			n.ledger.success(m, n.id(2))
		}},
	})
}

// TestExcusesOfLeavers: a member that was told to leave has not left yet. It finishes its own messages and those of
// others, unless that takes longer than LeaveAfter.
func TestExcusesOfLeavers(t *testing.T) {
	finds(t, []deed{
		{"a success without a member that leaves", "lives and has not delivered", func(n *Net, m *Message) {
			n.leaves(2, 0)
			n.ledger.success(m, n.id(2))
		}},
		{"a success without a member that has left", "lives and has not delivered", func(n *Net, m *Message) {
			n.leaves(2, 0)
			n.stopped(2)
			n.ledger.success(m, n.id(2))
		}},
		{"a success without a member that has left, while another list is independent", "lives and has not delivered", func(n *Net, m *Message) {
			elsewhere(n, 3)
			n.leaves(2, 0)
			n.stopped(2)
			n.ledger.success(m, n.id(2))
			n.nodes[3].incarnation--
		}},
		{"a success without a member that has left after LeaveAfter", "", func(n *Net, m *Message) {
			n.leaves(2, 0)
			n.nodes[2].toldAt -= 10 * time.Second
			n.stopped(2)
			n.ledger.success(m, n.id(2))
		}},
		{"a success without a member that may stop leaving", "", func(n *Net, m *Message) {
			n.leaves(2, 0)
			n.nodes[2].toldAt -= 10 * time.Second
			n.ledger.success(m, n.id(2))
		}},
		{"a message of a member that is fine is lost", "is fine is lost", func(n *Net, m *Message) { n.ledger.ended(m, engine.ErrExpelled) }},
		{"a message of a member that is fine is refused", "is fine is lost", func(n *Net, m *Message) { n.ledger.ended(m, engine.ErrNotMember) }},
		{"a short message is too long", "is fine is lost", func(n *Net, m *Message) { n.ledger.ended(m, engine.ErrTooLong) }},
		{"a message of a member that was paused for a moment is lost", "is fine is lost", func(n *Net, m *Message) {
			n.Pause(1)
			n.ledger.ended(m, engine.ErrExpelled)
		}},
		{"a message of a silent member is lost", "", func(n *Net, m *Message) {
			silence(n, 1, 30*time.Second)
			n.ledger.ended(m, engine.ErrExpelled)
		}},
		{"a message of a member whose list gives way to an independent one is lost", "", func(n *Net, m *Message) {
			elsewhere(n, 3)
			n.ledger.ended(m, engine.ErrExpelled)
			n.nodes[3].incarnation--
		}},
		{"a message of a member whose list goes on elsewhere is lost", "is fine is lost", func(n *Net, m *Message) {
			elsewhere(n, 3, rmcast.Member{ID: m.ID})
			n.ledger.ended(m, engine.ErrExpelled)
		}},
		{"a message in flight of a member that leaves is lost", "is fine is lost", func(n *Net, m *Message) {
			n.leaves(1, 0)
			n.ledger.ended(m, engine.ErrLeft)
		}},
		{"a message of a member that leaves is unfinished too early", "is fine is lost", func(n *Net, m *Message) {
			n.leaves(1, 0)
			n.ledger.ended(m, engine.ErrUnfinished)
		}},
		{"a message of a member that leaves is unfinished", "", func(n *Net, m *Message) {
			n.leaves(1, 0)
			n.nodes[1].toldAt -= 10 * time.Second
			n.ledger.ended(m, engine.ErrUnfinished)
		}},
		{"a message of a member that leaves and counts as dead is unfinished", "", func(n *Net, m *Message) {
			n.leaves(1, 0)
			n.ledger.died[n.id(1)] = true
			n.ledger.ended(m, engine.ErrUnfinished)
		}},
		{"a message of a member that leaves is refused", "", func(n *Net, m *Message) {
			n.leaves(1, 0)
			m.Outcome = Waiting
			n.ledger.ended(m, engine.ErrNotMember)
		}},
		{"released after it was lost", "ends again", func(n *Net, m *Message) {
			n.leaves(1, 0)
			n.ledger.ended(m, engine.ErrUnfinished)
			n.ledger.released(m, rmcast.Result{}, nil)
		}},
	})
}
