package healthsim_test

import (
	"fmt"
	"strings"
	"testing"

	"ulnet/health/healthsim"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/kit"
)

// conflict is a scenario in which servers disagree about which clients are evicted.
const conflict = `protocol health
nodes %d
run %s
set servers %d
set attach %s
set late %s
boot %d-%d at 2s
link latency 2ms±1ms duplicate 5%% reorder 10%% hold 200ms±200ms
check every 1s
%s
always uniform
expect settled
`

// TestConflicts: CH-33, CH-62, CH-63, CH-65, goal G-CH-6: some servers evict a client while it
// stays connected to others, or learn of the eviction late. In the end the client is evicted
// either everywhere or nowhere.
func TestConflicts(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-62", "CH-63", "CH-65", "G-CH-6")
	for name, tt := range map[string]struct {
		servers      int
		run          string
		attach, late string
		faults       string
	}{
		// The client on node 7 ends, and node 8 runs another one with its id, which asks one server
		// after the other to be its master. When the client of node 7 is evicted, all these servers
		// agree at the same time. The client on node 8 has ended before that, so it names none of them
		// as its master.
		"id taken and left": {6, "150s", "all", "0%", `at 30s do 7 traffic on
at 30s do 7 quit
at 50s do 8 impersonate 7
at 52s do 8 traffic on
at 52s do 8 quit`},
		// The majority evicts the clients of the minority as orphans. Servers that are not connected to
		// such a client do not learn of the eviction by themselves.
		"orphans of a minority": {6, "130s", "2", "0%", `at 30s partition 6,7-12
at 82s heal`},
		// Servers 1 to 4 receive nothing from server 5 and from the clients. They evict clients that
		// have chosen server 5 as their master.
		"a choice that is not heard": {5, "150s", "0", "0%", `at 40s cut 5,6-11 -> 1-4
at 94s kill 1
at 96s heal`},
		// A master loses the quorum while it evicts clients, and gives the evictions up. Copies of the
		// requests to evict arrive late.
		"evictions that are given up": {6, "140s", "2", "100%", `at 46600ms partition 4-6
at 49500ms do 1-6 evict 7
at 49550ms do 1-6 evict 8
at 49600ms do 1-6 evict 9
at 49650ms do 1-6 evict 10
at 65s heal`},
	} {
		t.Run(name, func(t *testing.T) {
			failed, first := 0, error(nil)
			count := effort.Seeds(10, 20, 400)
			for seed := range uint64(count) {
				text := fmt.Sprintf(conflict, tt.servers+6, tt.run, tt.servers, tt.attach, tt.late, tt.servers+1, tt.servers+6, tt.faults)
				if _, err := kit.RunPlan(t.Context(), healthsim.Protocol, scenario.Machines, text, seed); err != nil {
					if failed++; first == nil {
						first = err
					}
				}
			}
			if failed > 0 {
				line, _, _ := strings.Cut(first.Error(), "\n")
				t.Errorf("%d of %d runs fail; first: %s", failed, count, line)
			}
		})
	}
}
