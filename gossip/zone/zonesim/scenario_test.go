package zonesim_test

import (
	"strings"
	"testing"

	"ulnet/gossip/zone/zonesim"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/scenariotest"
)

func parse(t *testing.T, text string) *scenario.File {
	t.Helper()
	return scenariotest.Parse(t, zonesim.Protocol, text)
}

// TestOptions: invalid options are refused, with an error that names valid ones.
func TestOptions(t *testing.T) {
	for set, want := range map[string]string{
		"supervisors 9": "do not make 1 zones", "zones 3": "equal size", "theta 3\nset successors 2": "successors",
		"stub 16": "one node for each zone",
	} {
		_, err := scenario.Run(t.Context(), parse(t, "protocol zone\nnodes 8\nrun 1s\nset "+set+"\n"), scenario.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("set %s: %v", set, err)
		}
	}
}

const faults = `protocol zone
nodes 44
run 150s
set supervisors 4
set zones 2
set check on
link latency 1ms±500µs
expect views-right by 3s
expect census-right by 5s
at 6s do 5 set color blue
expect attribute 5 color blue within 2s
at 10s kill 20
expect removed 20 within 1.2s
expect census-right within 2s
at 12s crash 21
expect removed 21 within 6s
at 20s restart 20,21
expect views-right within 2s
at 22s do 5 rm color
expect no-attribute 5 color within 2s
at 25s do 30 leave 3
expect removed 30 within 1.2s
at 26s kill 30
at 27s restart 30
expect views-right within 2s
at 30s partition 1-4,15-24 | 5-14 | 25-44
expect removed 15-24 5-14 within 10s
expect views-equal 5-14 at 45s
at 50s heal
expect views-right within 40s
expect census-right within 45s
at 100s pause 35 for 10s
expect views-right within 20s
always no-false-removal
always alternating
`

// TestFaults (MS-9, MS-10): the same file gives the same run each time, and the list of members
// from a node's events equals its view.
func TestFaults(t *testing.T) {
	spec.Covers(t, "MS-9", "MS-10")
	f := parse(t, faults)
	first := scenariotest.Run(t, f, scenario.Options{})
	scenariotest.Holds(t, first)
	if again := scenariotest.Run(t, f, scenario.Options{}); again.Digest != first.Digest {
		t.Errorf("digest %016x, then %016x", first.Digest, again.Digest)
	}
	for _, m := range first.Measures {
		t.Logf("%s: %v %s", m.Name, m.Value, m.Unit)
	}
	for seed := range effort.Of[uint64](1, 1, 3) {
		scenariotest.Holds(t, scenariotest.Run(t, f, scenario.Options{Seed: &seed}))
	}
}
