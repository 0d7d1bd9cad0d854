package healthsim_test

import (
	"testing"

	"ulnet/health/healthsim"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
)

// pausedTwice pauses all clients twice, 1.7 s apart, each time for less than T_evict − T_ping.
// The clients also try to connect to a dead server, more often than they ping their masters.
const pausedTwice = `protocol health
nodes 19
run 100s
link latency 2ms±1ms
set servers 7
set attach all
boot 8-19 at 2s
check every 1s
at 40s crash 7
at 47254ms pause 8-19 for 8s
at 57s pause 8-19 for 11s
expect settled
always no-false-eviction
expect evictions = 0
`

// TestPausedTwice: CH-56, goal G-CH-3: two pauses with little time between them evict no client
// if each is short enough.
func TestPausedTwice(t *testing.T) {
	spec.Covers(t, "CH-56", "G-CH-3")
	for seed := range uint64(10) {
		if _, err := kit.RunPlan(t.Context(), healthsim.Protocol, scenario.Machines, pausedTwice, seed); err != nil {
			t.Fatal(err)
		}
	}
}
