package healthsim_test

import (
	"fmt"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/scenariotest"
)

// TestDrainMost: no client is evicted while all servers but one drain, while all servers drain,
// or while all servers that do not drain are dead (CH-8, CH-49).
func TestDrainMost(t *testing.T) {
	spec.Covers(t, "CH-8", "CH-49")
	for name, fault := range map[string]string{
		"all but one":           "at 30s do 1-4 drain on",
		"all":                   "at 30s do 1-5 drain on",
		"all, two of them dead": "at 30s do 1-3 drain on\nat 40s kill 4-5",
	} {
		t.Run(name, func(t *testing.T) {
			text := fmt.Sprintf(`protocol health
nodes 45
run 240s
set servers 5
set attach 5
boot 6-45 at 2s
link latency 1ms±500µs
check every 500ms
%s
always no-false-eviction
expect evictions = 0
`, fault)
			for seed := range uint64(4) {
				res := scenariotest.Run(t, parse(t, text), scenario.Options{Seed: &seed})
				if scenariotest.Holds(t, res); t.Failed() {
					t.Fatalf("seed %d:\n%s", seed, text)
				}
			}
		})
	}
}

// TestDrainBesideBrokenDisk: a server dies, and of the two others one drains and one cannot save
// records, so that it refuses clients that are not connected to it. The one that drains takes
// them (CH-74). When records can be saved again, all clients leave the server that drains.
func TestDrainBesideBrokenDisk(t *testing.T) {
	spec.Covers(t, "CH-74")
	const text = `protocol health
nodes 23
run 240s
set servers 3
set attach 2
boot 4-23 at 2s
link latency 1ms±500µs
check every 500ms
at 29s do 3 disk broken
at 30s do 1,2 drain on
at 40s kill 1
at 120s do 3 disk works
expect settled
expect master-in 3
always no-false-eviction
expect evictions = 0
`
	for seed := range uint64(4) {
		res := scenariotest.Run(t, parse(t, text), scenario.Options{Seed: &seed})
		if scenariotest.Holds(t, res); t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, text)
		}
	}
}
