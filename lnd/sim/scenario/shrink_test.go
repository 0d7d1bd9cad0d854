package scenario_test

import (
	"bytes"
	"errors"
	"testing"

	"ulnet/lnd/sim/scenario"
)

// TestShrinkFindsThePlantedBug: a node of package flood has a bug: if its timer is late, as
// after a pause, it forgets the rumours that it heard last. Random faults reveal the bug, and
// Shrink leaves only the faults that are needed to reveal it.
func TestShrinkFindsThePlantedBug(t *testing.T) {
	f := parseFile(t, "planted.sim")
	o := scenario.Options{}
	failed := false
	for seed := uint64(1); seed <= 20 && !failed; seed++ {
		o.Seed = &seed
		failed = !run(t, f, o).OK()
	}
	if !failed {
		t.Fatal("no seed up to 20 finds the bug")
	}
	runs := 0
	small, err := scenario.Shrink(t.Context(), f, o, func(s scenario.Shrinking) { runs = s.Runs })
	if err != nil {
		t.Fatal(err)
	}
	text := small.Format()
	t.Logf("seed %d, after %d runs:\n%s", *o.Seed, runs, text)
	if n := small.Faults(); n > 3 {
		t.Errorf("seed %d: shrunk to %d statements: want 3 or fewer", *o.Seed, n)
	}
	if !bytes.Contains(text, []byte(" pause ")) {
		t.Errorf("seed %d: the small plan has no pause", *o.Seed)
	}
	again := parse(t, "shrunk", string(text))
	if run(t, again, scenario.Options{}).OK() {
		t.Errorf("seed %d: the small plan does not fail", *o.Seed)
	}
	again.Options["bug"] = "none"
	expectOK(t, again, run(t, again, scenario.Options{}))
}

func TestShrinkOfARunThatPasses(t *testing.T) {
	_, err := scenario.Shrink(t.Context(), parseFile(t, "lives.sim"), scenario.Options{}, nil)
	if !errors.Is(err, scenario.ErrPasses) {
		t.Errorf("error %v", err)
	}
}

// TestShrinkWithoutNeedOfFaults: if a run also fails without its faults, Shrink removes all of
// them.
func TestShrinkWithoutNeedOfFaults(t *testing.T) {
	f := parse(t, "hopeless", `protocol flood
nodes 20
run 5s
at 1s do 1 tell 1
random faults 5 from 1s to 4s of kill pause
expect heard all 2
`)
	small, err := scenario.Shrink(t.Context(), f, scenario.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := small.Faults(); n != 1 {
		t.Errorf("%d statements: want the do alone:\n%s", n, small.Format())
	}
}
