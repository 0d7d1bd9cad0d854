package scollsim

import (
	"strings"
	"testing"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/scoll"
)

// TestReasons: the condition missing-right accepts each reason of the table of failures, and no other. In the tree
// node 1 is the root, with the children 2, 3 and 5; node 4 is below 3.
func TestReasons(t *testing.T) {
	const unfounded = "is missing without a reason"
	does := func(kind serviceKind, ids ...sim.NodeID) func(*Net) {
		return func(n *Net) {
			for _, id := range ids {
				n.faults.nodes[id-1].services = []serviceChange{{never, behaviour{kind: kind}}}
			}
		}
	}
	takes := func(delay time.Duration, id sim.NodeID) func(*Net) {
		return func(n *Net) {
			n.faults.nodes[id-1].services = []serviceChange{{never, behaviour{kind: slow, delay: delay}}}
		}
	}
	act := func(acts ...sim.Act) func(*Net) {
		return func(n *Net) {
			for i := range acts {
				n.faults.happens(&acts[i])
			}
		}
	}
	ended := func(discovery time.Duration, ending bool, deaths uint64) func(*Net) { // node 5 has created the group
		return func(n *Net) {
			n.cfg.Discovery = discovery
			n.groups.byName["g"] = &namedGroup{creator: 4, ending: ending, changed: never}
			n.oracle.deaths[4] = deaths
		}
	}
	relisted := func(at time.Duration) func(*Net) {
		return func(n *Net) { n.groups.byName["g"].changed = at }
	}
	lossy := link.Change{Fields: link.FieldLoss, To: link.Quality{Loss: 0.1}}
	tests := []struct {
		name    string
		happens func(*Net)
		missing map[sim.NodeID]scoll.Status
		want    string // part of the expected error; empty: no error
	}{
		{"nothing", nil, nil, ""},
		{"nothing, and a member is missing", nil, missing{4: scoll.ETIMEDOUT}, "node 4 " + unfounded},
		{"nothing, and all are missing", nil, missing{2: scoll.ETIMEDOUT, 3: scoll.ETIMEDOUT, 4: scoll.ETIMEDOUT, 5: scoll.ETIMEDOUT}, "node 2 " + unfounded},
		{"nothing, and the root is missing", nil, missing{1: scoll.ETIMEDOUT}, "node 1 " + unfounded},
		{"a mute service", does(mute, 3), missing{3: scoll.ETIMEDOUT}, ""},
		{"a mute service, and the member below is missing", does(mute, 3), missing{3: scoll.ETIMEDOUT, 4: scoll.ETIMEDOUT}, "node 4 " + unfounded},
		{"a mute service, and another member is missing", does(mute, 3), missing{2: scoll.ETIMEDOUT, 3: scoll.ETIMEDOUT}, "node 2 " + unfounded},
		{"a mute service answers", does(mute, 3), nil, "node 3 is not missing"},
		{"a mute service, for a wrong reason", does(mute, 3), missing{3: scoll.EIO}, "node 3 " + unfounded},
		{"a mute root", does(mute, 1), nil, ""},
		{"a service that replies when the module does", takes(30*time.Millisecond, 3), missing{3: scoll.ETIMEDOUT}, ""},
		{"a service that replies before the module does", takes(30*time.Millisecond-1, 3), missing{3: scoll.ETIMEDOUT}, "node 3 " + unfounded},
		{"a service that rejects", does(rejects, 3), missing{3: scoll.EPERM, 4: scoll.EPERM}, ""},
		{"a service that rejects, and the member below answers", does(rejects, 3), missing{3: scoll.EPERM}, "node 4 is not missing"},
		{"a service that fails", does(fails, 1, 3), missing{1: scoll.EIO, 3: scoll.EIO}, ""},
		{"a service that fails, and the answer below is lost", does(fails, 3), missing{3: scoll.EIO, 4: scoll.ELOST}, "node 4 " + unfounded},
		{"a service that aborts", does(aborts, 3), missing{3: scoll.ECANCELED, 4: scoll.ECANCELED}, ""},
		{"a service that has been mute", func(n *Net) { does(mute, 3)(n); n.faults.behaves(2, behaviour{}) }, missing{3: scoll.ETIMEDOUT}, ""},
		{"killed", act(sim.Act{Verb: sim.Kill, Node: 2, Changes: true}), missing{3: scoll.EHOSTDOWN, 4: scoll.EHOSTDOWN}, ""},
		{"killed, and another member is missing", act(sim.Act{Verb: sim.Kill, Node: 2, Changes: true}), missing{2: scoll.EHOSTDOWN}, "node 2 " + unfounded},
		{"killed, and the parent is missing", act(sim.Act{Verb: sim.Kill, Node: 3, Changes: true}), missing{3: scoll.ETIMEDOUT, 4: scoll.ETIMEDOUT}, "node 3 " + unfounded},
		{"paused", act(sim.Act{Verb: sim.Pause, Node: 3, Changes: true}), missing{4: scoll.ETIMEDOUT}, ""},
		{"paused until now", act(sim.Act{Verb: sim.Pause, Node: 3, Changes: true}, sim.Act{Verb: sim.Resume, Node: 3, Changes: true}), missing{4: scoll.ETIMEDOUT}, ""},
		{"skewed", act(sim.Act{Verb: sim.Skew, Node: 3, PPM: 1000}), missing{4: scoll.ETIMEDOUT}, "node 4 " + unfounded},
		{"cut from the parent", act(sim.Act{Verb: sim.Cut, From: sim.Nodes(3), To: sim.Nodes(2)}), missing{4: scoll.ETIMEDOUT}, ""},
		{"cut from another member", act(sim.Act{Verb: sim.Cut, From: sim.Nodes(3), To: sim.Nodes(1)}), missing{4: scoll.ETIMEDOUT}, "node 4 " + unfounded},
		{"on the side of the parent", act(sim.Act{Verb: sim.Partition, Sets: []sim.NodeSet{sim.Nodes(2, 3)}}), missing{3: scoll.ETIMEDOUT, 2: scoll.ETIMEDOUT}, "node 2 " + unfounded},
		{"a lossy link to the parent", act(sim.Act{Verb: sim.SetLink, From: sim.Nodes(2), To: sim.AllNodes, Change: lossy}), missing{4: scoll.ETIMEDOUT}, ""},
		{"the creator died, and members have no group", ended(time.Second, false, 1), missing{3: scoll.ENOGROUP, 4: scoll.ENOGROUP, 5: scoll.EREBOOT}, ""},
		{"the creator died, and a member is late", ended(time.Second, false, 1), missing{4: scoll.ETIMEDOUT}, "node 4 " + unfounded},
		{"the creator died, and only it can know", ended(0, false, 1), missing{5: scoll.ENOGROUP}, ""},
		{"the creator died, and another member cannot know", ended(0, false, 1), missing{4: scoll.ENOGROUP}, "node 4 " + unfounded},
		{"the creator lives", ended(time.Second, false, 0), missing{4: scoll.ENOGROUP}, "node 4 " + unfounded},
		{"the group is being destroyed", ended(0, true, 0), missing{3: scoll.ENOGROUP, 4: scoll.ENOGROUP}, ""},
		{"the group is being destroyed, and a member is late", ended(0, true, 0), missing{4: scoll.ETIMEDOUT}, "node 4 " + unfounded},
		{"restarted earlier, without discovery", func(n *Net) { n.oracle.deaths[2] = 1 }, missing{3: scoll.EREBOOT, 4: scoll.EREBOOT}, ""},
		{"restarted earlier, with discovery", func(n *Net) { n.oracle.deaths[2], n.cfg.Discovery = 1, time.Second }, missing{3: scoll.EREBOOT}, "node 3 " + unfounded},
		{"the list changes", relisted(0), missing{3: scoll.ESTALE, 4: scoll.ESTALE}, ""},
		{"the list changes, and a member is late", relisted(0), missing{4: scoll.ETIMEDOUT}, "node 4 " + unfounded},
		{"the list changed before", relisted(-1), missing{4: scoll.ESTALE}, "node 4 " + unfounded},
		{"the verb abort", func(n *Net) { n.faults.nodes[2].aborted = 0 }, missing{4: scoll.ECANCELED}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := prepare(Config{Network: scenario.Network{Nodes: 6, Topology: &sim.Flat{}}})
			n.groups.byName["g"] = &namedGroup{oob: true, changed: never}
			for id := range sim.NodeID(6) {
				n.faults.began(id)
			}
			if tt.happens != nil {
				tt.happens(n)
			}
			b := books(nil)
			for id, status := range tt.missing {
				b.Missing = append(b.Missing, Missing{id - 1, status})
			}
			if err := n.judge(b); tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// missing has the members that a root reports as missing, by number from 1, each with its status.
type missing = map[sim.NodeID]scoll.Status

// TestReasonsEnd: a fault that was over before a broadcast is no reason.
func TestReasonsEnd(t *testing.T) {
	n := prepare(Config{Network: scenario.Network{Nodes: 6, Topology: &sim.Flat{}}, Discovery: time.Second})
	f := &n.faults
	for _, f := range f.nodes {
		f.down = false
	}
	f.began(3)
	f.happens(&sim.Act{Verb: sim.Cut, From: sim.Nodes(3), To: sim.AllNodes})
	f.happens(&sim.Act{Verb: sim.Slow, Node: 3, Extra: time.Second})
	if !f.poor(3, 2, 1) || !f.impaired(3, 1) {
		t.Error("a cut or slowness has no effect")
	}
	f.happens(&sim.Act{Verb: sim.Heal})
	f.happens(&sim.Act{Verb: sim.Slow, Node: 3})
	if !f.poor(3, 2, 0) || !f.impaired(3, 0) || f.poor(3, 2, 1) || f.impaired(3, 1) {
		t.Error("a cut or slowness does not end")
	}
}

// TestReasonsConnection: with stacks, a broadcast that begins while there is no connection may miss
// members for that reason, although a later broadcast, which ended first, got their answers.
func TestReasonsConnection(t *testing.T) {
	n := prepare(Config{Network: scenario.Network{Nodes: 6, Topology: &sim.Flat{}}, Stacks: true})
	n.groups.byName["g"] = &namedGroup{oob: true, changed: never}
	for id := range sim.NodeID(6) {
		n.faults.began(id)
	}
	quick := books([]sim.NodeID{1, 2, 3, 4})
	quick.Begun, quick.Done = 2*time.Second, 3*time.Second
	if err := n.judge(quick); err != nil {
		t.Fatal(err)
	}
	for begun, want := range map[time.Duration]bool{time.Second: true, 4 * time.Second: false} {
		b := books([]sim.NodeID{1, 2, 4}, 3)
		b.Begun, b.Done = begun, 5*time.Second
		if err := n.judge(b); (err == nil) != want {
			t.Errorf("begun at %v: %v", begun, err)
		}
	}
}
