package zonesim_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/scenariotest"
)

// TestPlansOnStacks: G-MS-8, MS-2, MS-95, MS-100: agents above portals and LNet, with real
// messages and connections that break, pass the random scenarios (plans) that bare machines pass. A
// slow simulated host notes the arrival of a message only when it processes the message, so its agent
// does not know how long messages have waited in the host's queue. In a zone of three members, the agent
// could then take both others for silent. Therefore no host in mild plans is so slow that messages queue.
func TestPlansOnStacks(t *testing.T) {
	spec.Covers(t, "MS-2", "MS-95", "MS-100", "G-MS-8")
	mild := func(seed uint64) string { return mildPlan(seed, 20*time.Millisecond) }
	for name, draw := range map[string]func(uint64) string{"mild": mild, "wild": wildPlan} { // any order: each kind of plan runs by itself
		t.Run(name, func(t *testing.T) {
			count := effort.Seeds(3, 3, 300)
			if some := plans(t, scenario.Stacks, count, draw); some < count/3 {
				t.Errorf("nodes were removed in %d of %d plans only", some, count)
			}
		})
	}
}

// TestFaultsOnStacks: MS-40, MS-95, MS-98, MS-A30: a system of whole stacks survives deaths,
// restarts, goodbyes, a partition and a pause, with the same result each time.
func TestFaultsOnStacks(t *testing.T) {
	spec.Covers(t, "MS-40", "MS-95", "MS-98", "MS-A30")
	f := parse(t, faults)
	first := scenariotest.Run(t, f, scenario.Options{Level: scenario.Stacks})
	scenariotest.Holds(t, first)
	if !effort.Long() { // the repetition is left to TestFaults, which runs machines, and to long runs
		return
	}
	if again := scenariotest.Run(t, f, scenario.Options{Level: scenario.Stacks}); again.Digest != first.Digest {
		t.Errorf("digest %016x, then %016x", first.Digest, again.Digest)
	}
}

// TestExamplesOnStacks: the embedded scenarios also pass with whole stacks, with fewer nodes if
// the example has many.
func TestExamplesOnStacks(t *testing.T) {
	paths, err := filepath.Glob("../../../cmd/lnetsim/examples/zone-*.sim")
	if err != nil || len(paths) < 6 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".sim")
		switch {
		case name == "zone-stubs": // stubs exist only with bare machines
			continue
		case !effort.Long() && (testing.Short() || name != "zone-hierarchy"):
			continue
		}
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			small := strings.NewReplacer("nodes 512", "nodes 128", "members 512", "members 128", "101-300", "51-100",
				"do 400", "do 120", "removed 400", "removed 120", "401-404", "111-114").Replace(string(text))
			scenariotest.Holds(t, scenariotest.Run(t, parse(t, small), scenario.Options{Level: scenario.Stacks}))
		})
	}
}
