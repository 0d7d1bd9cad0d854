package scenario_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
)

// fickle is a protocol whose machines are not deterministic: what the command "work" does depends
// on a number that all runs of the process share.
func fickle() *scenario.Protocol {
	shared := 0
	p := *careless
	p.Name = "fickle"
	p.New = func(s *scenario.Setup) (scenario.Instance, error) {
		cfg := scenario.Config[struct{}](&s.Network)
		cfg.Boot = func(sim.Incarnation, sim.Program[struct{}]) sim.Program[struct{}] { return &fickleNode{&shared} }
		n, err := sim.New(cfg)
		return carelessNet{n}, err
	}
	return &p
}

type fickleNode struct{ shared *int }

func (f *fickleNode) Step(now time.Duration, in sim.Input[struct{}], _ *sim.Output[struct{}]) time.Duration {
	switch in.Text {
	case "break":
		panic("broken")
	case "work":
		*f.shared++
	}
	return now + time.Second + time.Duration(*f.shared)
}

// TestVerify: a run with Verify names the step in which a machine was not deterministic.
func TestVerify(t *testing.T) {
	const text = "protocol fickle\nnodes 5\nrun 10s\nat 2s kill 1\nat 3s do 4 work\n"
	for _, verify := range []bool{false, true} {
		f, err := scenario.Parse("FILE", []byte(text), []*scenario.Protocol{fickle()})
		if err != nil {
			t.Fatal(err)
		}
		_, err = scenario.Run(t.Context(), f, scenario.Options{Verify: verify})
		_, found := errors.AsType[*sim.DivergenceError](err)
		if found != verify || !verify && err != nil {
			t.Errorf("verify %v: error %v", verify, err)
		}
		const want = "FILE: seed 0: step 1 differs between two runs of one seed: node 1 at 0s, incarnation 0, start: "
		if verify && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v: want %s", err, want)
		}
	}
}

// TestVerifySame: deterministic machines pass Verify, with the digest, samples and recording of a
// run without Verify.
func TestVerifySame(t *testing.T) {
	for _, level := range []scenario.Level{scenario.Machines, scenario.Stacks} {
		f := parse(t, "FILE", "protocol flood\nnodes 20\nrun 10s\nlink latency 1ms±0.5ms loss 2%\nset again 100ms\n"+
			"random faults 6 from 1s to 8s of kill pause partition skew slow\nat 9s do 1 tell 1\nexpect heard 1\n")
		var once, twice bytes.Buffer
		want := run(t, f, scenario.Options{Level: level, Record: &once})
		got := run(t, f, scenario.Options{Level: level, Record: &twice, Verify: true})
		if got.Digest != want.Digest || got.Stats != want.Stats || len(got.Series) != len(want.Series) || !bytes.Equal(once.Bytes(), twice.Bytes()) {
			t.Errorf("%v: digest %016x, made twice %016x", level, want.Digest, got.Digest)
		}
	}
}

// TestVerifyMemory checks that two runs need twice the memory.
func TestVerifyMemory(t *testing.T) {
	f := parse(t, "FILE", "protocol flood\nnodes 1000\nrun 1s\n")
	limit := f.Memory(scenario.Machines, 1000) + 1
	run(t, f, scenario.Options{MemoryLimit: limit})
	_, err := scenario.Run(t.Context(), f, scenario.Options{MemoryLimit: limit, Verify: true})
	if _, ok := errors.AsType[*scenario.MemoryError](err); !ok {
		t.Errorf("error %v: want one of memory", err)
	}
}

// TestPanic: a machine that panics ends the run with an error that names the step; the run is
// shrunk to the commands that lead there.
func TestPanic(t *testing.T) {
	const text = "protocol fickle\nnodes 5\nseed 7\nrun 10s\nevery 1s do 2 work\nat 1s pause 4 for 3s\nat 2s do 4 break\n"
	f, err := scenario.Parse("FILE", []byte(text), []*scenario.Protocol{fickle()})
	if err != nil {
		t.Fatal(err)
	}
	_, err = scenario.Run(t.Context(), f, scenario.Options{})
	const want = "(command), node 4 in incarnation 0 at 4s: the program panicked: broken"
	if err == nil || !strings.HasPrefix(err.Error(), "FILE: seed 7: step ") || !strings.HasSuffix(err.Error(), want) {
		t.Fatalf("error %v: want %s", err, want)
	}
	small, err := scenario.Shrink(t.Context(), f, scenario.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(small.Format()); !strings.HasSuffix(got, "run 10s\nat 2s do 4 break\n") {
		t.Errorf("shrunk to\n%s", got)
	}
}
