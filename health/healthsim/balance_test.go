package healthsim_test

import (
	"fmt"
	"testing"

	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/scenariotest"
)

// TestEvenLoad: soon after a server was drained, or was restarted with or without its records,
// all masters have about the same number of clients. No client loses a connection, or changes
// its master more than once or twice.
func TestEvenLoad(t *testing.T) {
	for _, tt := range []struct {
		servers         int
		clients, attach int
		fault           string
		within          string
		least, most     int
		dropped         int // connections that were lost when the server died
	}{
		{5, 100, 5, "at 30s kill 1\nat 90s restart 1 keeping state", "60s", 12, 32, 100},
		{5, 100, 5, "at 30s kill 1\nat 90s restart 1", "60s", 12, 32, 100},
		{5, 100, 0, "at 30s kill 1\nat 90s restart 1", "60s", 12, 32, 100},
		{5, 20, 5, "at 30s kill 1\nat 90s restart 1 keeping state", "60s", 1, 8, 20},
		{5, 100, 0, "at 30s do 1 drain on\nat 90s do 1 drain off", "60s", 12, 32, 0},
		{5, 2000, 1, "at 30s kill 1\nat 90s restart 1 keeping state", "60s", 340, 460, 2000},
		{50, 400, 1, "at 30s kill 1\nat 90s restart 1", "60s", 2, 20, 400},
		{50, 400, 0, "at 30s kill 1-10\nat 90s restart 1-10", "60s", 2, 20, 400},
	} {
		text := fmt.Sprintf(`protocol health
nodes %d
run 400s
set servers %d
set attach %d
boot %d-%d at 2s
link latency 1ms±500µs
check every 500ms
%s
expect load-least >= %d within %s
expect load-least >= %d
expect load-most <= %d
expect settled
always no-false-eviction
expect evictions = 0
expect changes < %d
expect dropped <= %d
`, tt.clients+tt.servers, tt.servers, tt.attach, tt.servers+1, tt.clients+tt.servers, tt.fault, tt.least, tt.within, tt.least, tt.most, tt.clients, tt.dropped)
		seeds := effort.Of[uint64](1, 1, 3)
		if tt.clients > 1000 {
			seeds = 1
		}
		for seed := range seeds {
			res := scenariotest.Run(t, parse(t, text), scenario.Options{Seed: &seed})
			if scenariotest.Holds(t, res); t.Failed() {
				t.Fatalf("seed %d:\n%s", seed, text)
			}
		}
	}
}
