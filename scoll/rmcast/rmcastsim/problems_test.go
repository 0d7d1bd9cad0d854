package rmcastsim

import (
	"errors"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/scoll/rmcast"
	"ulnet/scoll/rmcast/engine"
)

// told returns a network of four nodes in which node 1 has sent a message that has not arrived yet.
func told(t *testing.T) (*Net, *Message) {
	t.Helper()
	n, err := New(Config{
		Network: scenario.Network{Nodes: 4, Topology: &sim.Flat{Link: link.Quality{Latency: link.Dist{Base: time.Millisecond}}}}, Rmcast: rmcast.GroupConfig{FIFO: true},
	})
	if err == nil {
		err = n.Form()
	}
	if err != nil {
		t.Fatal(err)
	}
	list, err := n.Begin(1, 1, 100)
	if err != nil || list[0].Outcome != UnderWay {
		t.Fatal(list, err)
	}
	return n, list[0]
}

// TestProblems: the ledger finds each violation, and none in a good run.
func TestProblems(t *testing.T) {
	tests := []deed{
		{"nothing", "", func(*Net, *Message) {}},
		{"released too early", "has not delivered it", func(n *Net, m *Message) {
			n.ledger.released(m, rmcast.Result{Version: n.incarnations[0].(*program).m.Status().Version}, nil)
		}},
		{"released in no version", "which nobody has listed", func(n *Net, m *Message) {
			n.ledger.released(m, rmcast.Result{Version: rmcast.Version{Epoch: 1, Counter: 9}}, nil)
		}},
		{"a live member named as failed", "which lives", func(n *Net, m *Message) {
			n.ledger.failed(m, n.id(2))
		}},
		{"a success without a live member", "lives and has not delivered it", func(n *Net, m *Message) {
			n.Pause(2)
			n.ledger.released(m, rmcast.Result{Version: n.incarnations[0].(*program).m.Status().Version, Failed: []rmcast.ID{n.id(0), n.id(1), n.id(2), n.id(3)}}, nil)
		}},
		{"twice", "delivers message 1 of node 2 again", func(n *Net, m *Message) {
			n.ledger.delivered(3, m.ID, m.Result.Seq, m.payload())
		}},
		{"altered", "has not sent", func(n *Net, m *Message) {
			b := m.payload()
			b[50]++
			n.ledger.delivered(3, m.ID, m.Result.Seq, b)
		}},
		{"cut short", "has not sent", func(n *Net, m *Message) {
			n.ledger.delivered(3, m.ID, m.Result.Seq, m.payload()[:3])
		}},
		{"of another origin", "has not sent", func(n *Net, m *Message) {
			n.ledger.delivered(3, n.id(2), m.Result.Seq, m.payload())
		}},
		{"out of order", "after 99", func(n *Net, m *Message) {
			n.ledger.order[[2]rmcast.ID{n.id(2), m.ID}] = 99
		}},
		{"two ends", "ends again", func(n *Net, m *Message) {
			n.ledger.ended(m, engine.ErrLeft)
			n.ledger.ended(m, engine.ErrLeft)
		}},
	}
	finds(t, tests)
}

// deed is an act on a network and its message, and the error that the ledger must then report.
type deed struct {
	name, want string // part of the error; empty: no error
	do         func(n *Net, m *Message)
}

// finds carries out each deed in a new network, and checks which error the ledger then reports.
func finds(t *testing.T, deeds []deed) {
	t.Helper()
	for _, d := range deeds {
		t.Run(d.name, func(t *testing.T) {
			n, m := told(t)
			d.do(n, m)
			m.Outcome = UnderWay
			n.ledger.open = 1
			n.Heal()
			for id := range sim.NodeID(4) {
				n.Resume(id)
			}
			err := n.Finish()
			if d.want == "" && err != nil || d.want != "" && (err == nil || !strings.Contains(err.Error(), d.want)) {
				t.Errorf("got %v, want %q", err, d.want)
			}
		})
	}
}

// TestLeftTooEarly: RM-A11: leaving with ErrUnfinished is a violation before LeaveAfter, and
// so is leaving with another error.
func TestLeftTooEarly(t *testing.T) {
	spec.Covers(t, "RM-A11")
	for name, stacks := range map[string]bool{"machines": false, "stacks": true} {
		t.Run(name, func(t *testing.T) {
			for later, wrong := range map[time.Duration]bool{0: false, time.Microsecond: true} {
				n, err := New(Config{Network: scenario.Network{Nodes: 3}, Stacks: stacks, Rmcast: rmcast.GroupConfig{LeaveAfter: 2 * time.Second}})
				if err == nil {
					err = n.Form()
				}
				if err == nil {
					n.Pause(2)
					_, err = n.Begin(0, 1, 100)
				}
				if err == nil {
					n.Command(1, "leave")
					err = n.Run(n.Now() + time.Second)
				}
				if err != nil || n.nodes[1].leaveAt == 0 {
					t.Fatal(err)
				}
				n.nodes[1].leaveAt += later
				if err := n.Run(n.Now() + 2*time.Second); wrong != errors.Is(err, engine.ErrUnfinished) || !wrong && err != nil {
					t.Errorf("told to leave %v later: %v", later, err)
				}
				if s, ok := n.Status(1); ok && s.State != "out" {
					t.Errorf("%+v", s)
				}
			}
		})
	}
	n, _ := told(t)
	n.left(1, time.Hour, engine.ErrNoManager)
	if err := n.Run(n.Now()); !errors.Is(err, engine.ErrNoManager) {
		t.Errorf("another error: %v", err)
	}
}

// TestLeaverCountedFailed: RM-A11: a manager that does not hear a leaving member counts it as failed. When
// the member hears of that, before LeaveAfter, it leaves with ErrUnfinished, which is no violation.
func TestLeaverCountedFailed(t *testing.T) {
	spec.Covers(t, "RM-A11")
	for name, stacks := range map[string]bool{"machines": false, "stacks": true} {
		t.Run(name, func(t *testing.T) {
			n, err := New(Config{
				Network: scenario.Network{Nodes: 5}, Stacks: stacks, Rmcast: rmcast.GroupConfig{LeaveAfter: time.Minute},
				Manager: engine.ManagerConfig{MemberTimeout: 2 * time.Second},
			})
			if err == nil {
				err = n.Form()
			}
			if err != nil {
				t.Fatal(err)
			}
			n.Cut(sim.Nodes(0), sim.Nodes(1))
			n.Cut(sim.Nodes(1), sim.Nodes(0))
			m, err := n.Begin(1, 1, 100)
			if err != nil {
				t.Fatal(err)
			}
			n.Command(1, "leave")
			if err = n.Run(n.Now() + 5*time.Second); err == nil {
				n.Heal()
				err = n.Run(n.Now() + 5*time.Second)
			}
			if err != nil || !errors.Is(m[0].Why, engine.ErrUnfinished) {
				t.Errorf("%v, the message ends with %v", err, m[0].Why)
			}
		})
	}
}

// TestLeaverCountedDead: RM-A11: a leaving member stands still until gossip is certain that it is dead. When it hears of that,
// before LeaveAfter, it leaves with ErrUnfinished, which is no violation.
func TestLeaverCountedDead(t *testing.T) {
	spec.Covers(t, "RM-A11")
	for name, stacks := range map[string]bool{"machines": false, "stacks": true} {
		t.Run(name, func(t *testing.T) {
			n, err := New(Config{
				Network: scenario.Network{Nodes: 5}, Stacks: stacks, Gossip: true, Discovery: 300 * time.Millisecond, Rmcast: rmcast.GroupConfig{LeaveAfter: time.Minute},
				Manager: engine.ManagerConfig{MemberTimeout: 30 * time.Second},
			})
			if err == nil {
				err = n.Form()
			}
			if err != nil {
				t.Fatal(err)
			}
			n.Cut(sim.Nodes(1), sim.Nodes(2, 3, 4)) // nodes 2 to 4 do not get the message
			m, err := n.Begin(1, 1, 100)
			if err != nil {
				t.Fatal(err)
			}
			n.Command(1, "leave")
			n.Pause(1)
			if err = n.Run(n.Now() + 4*time.Second); err == nil {
				n.Resume(1)
				err = n.Run(n.Now() + 5*time.Second)
			}
			if err != nil || !errors.Is(m[0].Why, engine.ErrUnfinished) {
				t.Errorf("%v, the message ends with %v", err, m[0].Why)
			}
		})
	}
}

// TestDeadIsNoProblem: a member that died, and one that was silent for too long, may be named as failed.
func TestDeadIsNoProblem(t *testing.T) {
	n, m := told(t)
	n.Crash(3)
	silence(n, 2, 30*time.Second)
	n.ledger.failed(m, n.id(3))
	n.ledger.failed(m, n.id(2))
	if err := n.problems(); err != nil {
		t.Error(err)
	}
	if err := n.over(); err == nil || errors.Is(err, engine.ErrLeft) {
		t.Errorf("over: %v", err)
	}
}
