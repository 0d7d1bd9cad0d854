package healthsim_test

import (
	"fmt"
	"testing"
	"time"

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

// pausedAndSkewed pauses clients again and again. The clocks of servers are fast, and those of clients slow.
const pausedAndSkewed = `protocol health
nodes 8
run 400s
link latency 2ms±1ms
set servers 3
boot 4-8 at 2s
check every 1s
at 10s skew 1-3 %[1]dppm
at 10s skew 4-8 -%[1]dppm
every %[2]v from 33s to 330s pause 4-8 for 11400ms
expect settled
always no-false-eviction
`

// TestPausedAndSkewed: CH-56, goal G-CH-3: a pause that is short enough evicts no client if clocks are wrong by up to
// three in a hundred. If they are wrong by a tenth it does, and the checker excuses that.
func TestPausedAndSkewed(t *testing.T) {
	spec.Covers(t, "CH-56", "G-CH-3")
	evicted := 0.0
	for _, ppm := range []int{30_000, 100_000} {
		for seed := range uint64(15) { // so that pauses begin at various times after the latest ping
			text := fmt.Sprintf(pausedAndSkewed, ppm, 30*time.Second+time.Duration(seed)*390*time.Millisecond)
			res, err := kit.RunPlan(t.Context(), healthsim.Protocol, scenario.Machines, text, seed)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range res.Measures {
				if m.Name == "evictions by all" {
					evicted += m.Value
				}
			}
		}
		if evicted > 0 != (ppm > 30_000) {
			t.Errorf("%d ppm: %v evictions", ppm, evicted)
		}
	}
}
