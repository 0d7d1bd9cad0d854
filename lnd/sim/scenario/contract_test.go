package scenario_test

import (
	"errors"
	"testing"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
)

// careless is a protocol whose machine breaks the contract of machines when a command tells it to.
var careless = &scenario.Protocol{
	Name:   "careless",
	Verbs:  []scenario.Verb{{Name: "work"}, {Name: "break"}},
	Levels: []scenario.Level{scenario.Machines},
	New: func(s *scenario.Setup) (scenario.Instance, error) {
		cfg := scenario.Config[struct{}](&s.Network)
		cfg.Boot = func(sim.Incarnation, sim.Program[struct{}]) sim.Program[struct{}] { return carelessNode{} }
		n, err := sim.New(cfg)
		return carelessNet{n}, err
	},
}

type carelessNode struct{}

func (carelessNode) Step(now time.Duration, in sim.Input[struct{}], _ *sim.Output[struct{}]) time.Duration {
	if in.Text == "break" {
		return now // breaks the contract: the wake must be later than now
	}
	return now + time.Second
}

type carelessNet struct{ sim.Control }

func (n carelessNet) Check(string, scenario.Args) (bool, string) { return true, "" }
func (n carelessNet) Sample() []float64                          { return nil }
func (n carelessNet) Measures() []scenario.Measure               { return nil }

// TestBrokenContract: a machine that breaks the contract of machines ends the run with an error
// that names the step, and Shrink leaves only the commands that cause this.
func TestBrokenContract(t *testing.T) {
	f, err := scenario.Parse("careless.sim", []byte(`protocol careless
nodes 10
seed 3
run 10s
every 1s do any 3 of all work
at 3s pause 4 for 2s
at 4s do 4 break
at 6s kill 5
`), []*scenario.Protocol{careless})
	if err != nil {
		t.Fatal(err)
	}
	_, err = scenario.Run(t.Context(), f, scenario.Options{})
	var broken *sim.ContractError
	if !errors.As(err, &broken) || broken.Step.Node != 3 || broken.Step.At != 5*time.Second {
		t.Fatalf("error %v: want that of node 4 at 5s", err)
	}
	small, err := scenario.Shrink(t.Context(), f, scenario.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := "protocol careless\nnodes 10\nseed 3\nrun 10s\nat 4s do 4 break\n"
	if got := string(small.Format()); got != want {
		t.Errorf("shrunk to\n%s\nwant\n%s", got, want)
	}
}
