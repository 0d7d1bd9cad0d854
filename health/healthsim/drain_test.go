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
