package healthsim_test

import (
	"fmt"
	"testing"
	"time"

	"ulnet/health/healthsim"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
)

// healedPlan separates a majority of the servers from the other servers and from all clients,
// and later ends the partition.
const healedPlan = `protocol health
nodes 37
run %v
set servers 7
set attach %d
boot 8-37 at 2s
link latency 1ms±500µs reorder 5%% duplicate 2%%
check every 1s
at 56s partition 4-7
at %v heal
expect settled within 27500ms
always uniform
`

// TestHealedPartition: CH-33, CH-63, CH-65, goal G-CH-6: when a partition ends, clients that the
// majority has evicted find the minority first. Within T_q + T_orphan none of them is connected
// to some servers while others have its tombstone.
func TestHealedPartition(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-63", "CH-65", "G-CH-6")
	for _, heal := range []time.Duration{85 * time.Second, 100 * time.Second, 300 * time.Second} {
		failed, first := 0, error(nil)
		seeds := effort.Seeds(6, 10, 200)
		for seed := range uint64(seeds) {
			text := fmt.Sprintf(healedPlan, heal+60*time.Second, seed%3, heal)
			if _, err := kit.RunPlan(t.Context(), healthsim.Protocol, scenario.Machines, text, seed); err != nil {
				if failed++; first == nil {
					first = err
				}
			}
		}
		if failed > 0 {
			t.Errorf("healed at %v: %d of %d plans fail; first: %v", heal, failed, seeds, first)
		}
	}
}

// oneWay is an asymmetric partition: two servers receive messages of all others, and the others
// receive none of theirs.
const oneWay = `protocol health
nodes 19
run 110s
set servers 7
set attach %s
boot 8-19 at 2s
link latency 1ms±500µs reorder 5%% duplicate 2%%
check every 1s
%s
always uniform
always no-false-eviction
expect settled
expect evictions = 0
`

// TestCutOneWay: CH-33, CH-49, CH-63, goal G-CH-3: two servers receive messages of all others,
// which receive none of theirs. So the two do not know that they were cut off. Within T_q +
// T_orphan after the end of the partition they evict the clients that the others have evicted.
// If one of the two is a client's master, the client finds another master, one whose messages
// reach all servers, before it is evicted as an orphan.
func TestCutOneWay(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-49", "CH-63", "G-CH-3")
	for name, tt := range map[string]struct{ attach, faults string }{
		"clients that die":  {"all", "at 25s cut 3,5 -> 1,2,4,6,7\nat 27s kill 8-11\nat 54s heal"},
		"clients that live": {"1", "at 25s do 3,7 drain on\nat 25s cut 1,4 -> 2,3,5,6,7\nat 66s heal"},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(effort.Seeds(4, 8, 100)) {
				text := fmt.Sprintf(oneWay, tt.attach, tt.faults)
				if _, err := kit.RunPlan(t.Context(), healthsim.Protocol, scenario.Machines, text, seed); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// lateHeal is a partition that ends about when discovery notices it. Each client is connected to two servers at most.
const lateHeal = `protocol health
nodes 11
run 4m
set servers 5
set attach 1
set discovery 17s
boot 6-11 at 2s
link latency 2ms±1ms duplicate 5%% reorder 10%% hold 200ms±200ms
check every 1s
at 22s partition 1,4,6,9,11
at %v heal
at 3m do 6-11 doubt
expect settled
always uniform
always no-false-eviction
`

// TestHealedWhenNoticed: CH-33, CH-62, goal G-CH-3: a partition ends about when discovery notices it. A master in the minority, which has
// begun to evict clients that have found another master in the majority, hears servers that do not know these clients before
// it hears the other masters. No client is evicted from all servers.
func TestHealedWhenNoticed(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-62", "G-CH-3")
	failed, first := 0, error(nil)
	plans := effort.Seeds(20, 40, 400)
	for k := range plans {
		text := fmt.Sprintf(lateHeal, 38500*time.Millisecond+time.Duration(k%20)*250*time.Millisecond)
		if _, err := kit.RunPlan(t.Context(), healthsim.Protocol, scenario.Machines, text, 292+uint64(k)); err != nil {
			if failed++; first == nil {
				first = err
			}
		}
	}
	if failed > 0 {
		t.Errorf("%d of %d plans fail; first: %v", failed, plans, first)
	}
}
