package kit_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/history"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
	"ulnet/lnet/machine"
)

// idle is a machine that does nothing.
type idle struct{}

func (idle) Step(time.Duration, sim.Input[*kit.Message], *sim.Output[*kit.Message]) time.Duration {
	return machine.Never
}

// started is a network of idle machines, one on each node.
func started(t *testing.T, b *kit.Base, nodes int) {
	t.Helper()
	boot := func(l sim.Incarnation, _ sim.Program[*kit.Message]) sim.Program[*kit.Message] {
		b.Begins(l)
		return idle{}
	}
	err := kit.Start(b, &scenario.Network{Nodes: nodes}, kit.Machines[*kit.Message]{Boot: boot, Hash: kit.Hash}, nil)
	if err == nil {
		err = b.Run(time.Second)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestAround: Around is called for each act, whether that changes the state of a node or not,
// and the history has all acts that had an effect.
func TestAround(t *testing.T) {
	b := &kit.Base{Log: history.New()}
	var acts []sim.Act
	b.Around = func(a *sim.Act, do func()) {
		acts = append(acts, *a)
		do()
	}
	started(t, b, 4)
	some, worse := sim.Nodes(2), link.Change{Fields: link.FieldLoss, To: link.Quality{Loss: 0.5}}
	b.Kill(0)
	b.Crash(0)
	b.Pause(1)
	b.Pause(1)
	b.Resume(1)
	b.Resume(1)
	b.SetSkew(1, 7)
	b.SetSlow(1, time.Second)
	b.Partition(some)
	b.Cut(some, sim.AllNodes)
	b.Heal()
	b.SetLink(some, sim.AllNodes, worse)
	b.ResetLinks()
	want := []sim.Act{
		{Verb: sim.Kill, Changes: true},
		{Verb: sim.Crash},
		{Verb: sim.Pause, Node: 1, Changes: true},
		{Verb: sim.Pause, Node: 1},
		{Verb: sim.Resume, Node: 1, Changes: true},
		{Verb: sim.Resume, Node: 1},
		{Verb: sim.Skew, Node: 1, PPM: 7},
		{Verb: sim.Slow, Node: 1, Extra: time.Second},
		{Verb: sim.Partition, Sets: []sim.NodeSet{some}},
		{Verb: sim.Cut, From: some, To: sim.AllNodes},
		{Verb: sim.Heal},
		{Verb: sim.SetLink, From: some, To: sim.AllNodes, Change: worse},
		{Verb: sim.ResetLinks},
	}
	text := cmp.Transformer("text", sim.NodeSet.String)
	if diff := cmp.Diff(want, acts, text, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !acts[0].Ends() || acts[1].Ends() || b.Up(0) || !b.Up(1) {
		t.Errorf("node 1 is up: %v, node 2: %v", b.Up(0), b.Up(1))
	}
	const starts, redundant = 4, 3 // acts without effect are not in the history
	if got := b.Log.Len(); got != starts+len(acts)-redundant {
		t.Errorf("%d records of %d acts", got, len(acts))
	}
}

// TestFailed: an error ends the run, and remains its result; without a network no node is up.
func TestFailed(t *testing.T) {
	b := &kit.Base{}
	if b.Failed(errors.New("unheard")); b.Up(0) || b.Now() != 0 {
		t.Error("something runs without a network")
	}
	started(t, b, 1)
	broken := errors.New("broken")
	b.At(2*time.Second, func() { b.Failed(broken) })
	for range 2 {
		if err := b.Run(3 * time.Second); !errors.Is(err, broken) || b.Now() != 2*time.Second {
			t.Errorf("%v at %v", err, b.Now())
		}
	}
}

// TestCuts: a partition separates its sides from each other and from the nodes in none of
// them, and a cut blocks one direction, until both are healed.
func TestCuts(t *testing.T) {
	var c sim.Cuts
	c.Partition(4, []sim.NodeSet{sim.Nodes(0), sim.Nodes(1)})
	if !c.Some() || !c.Apart(0, 1) || !c.Apart(1, 2) || c.Apart(2, 3) {
		t.Errorf("%+v", c)
	}
	c.Cut(sim.Nodes(2), sim.Nodes(3))
	if !c.Apart(2, 3) || c.Apart(3, 2) {
		t.Errorf("%+v", c)
	}
	if c.Heal(); c.Some() || c.Apart(0, 1) || c.Apart(2, 3) {
		t.Errorf("%+v", c)
	}
}
