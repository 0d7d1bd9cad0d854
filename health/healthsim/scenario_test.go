package healthsim_test

import (
	"strings"
	"testing"

	"ulnet/health/healthsim"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/scenariotest"
)

func parse(t *testing.T, text string) *scenario.File {
	t.Helper()
	return scenariotest.Parse(t, healthsim.Protocol, text)
}

// TestOptions: invalid options are refused, and the error lists the valid ones.
func TestOptions(t *testing.T) {
	for set, want := range map[string]string{
		"servers 6": "cannot be servers", "attach many": "a number of servers, or all", "attach -1": "a number of servers, or all",
		"evict 3s": "eviction time-out",
	} {
		_, err := scenario.Run(t.Context(), parse(t, "protocol health\nnodes 5\nrun 1s\nset "+set+"\n"), scenario.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("set %s: %v", set, err)
		}
	}
}

const faults = `protocol health
nodes 45
run 300s
set servers 5
boot 6-45 at 2s
link latency 1ms±500µs duplicate 2% reorder 5%
set late 20%
set unsent 5%
expect settled by 4s
expect attached by 4s
at 20s kill 1
expect orphans > 0 within 5s
expect settled within 16s
at 60s restart 1 keeping state
expect attached within 30s
at 90s pause 2 for 25s
at 95s pause 20 for 8s
expect settled within 45s
at 150s kill 45
expect forgotten 45 within 19s
at 180s restart 45
expect settled within 10s
at 185s kill 44
at 187s restart 44
expect settled within 10s
at 200s do 1-5 evict 43
expect evicted 43 1 within 2s
expect evicted 6-42 0
expect skew < 100
always no-false-eviction
always uniform
`

// TestFaults: two runs of one scenario have the same digest.
func TestFaults(t *testing.T) {
	f := parse(t, faults)
	for _, level := range healthsim.Protocol.Levels {
		t.Run(level.String(), func(t *testing.T) {
			first := scenariotest.Run(t, f, scenario.Options{Level: level})
			scenariotest.Holds(t, first)
			if level == scenario.Stacks && (testing.Short() || effort.Race) {
				return
			}
			if again := scenariotest.Run(t, f, scenario.Options{Level: level}); again.Digest != first.Digest {
				t.Errorf("digest %016x, then %016x", first.Digest, again.Digest)
			}
			for _, m := range first.Measures {
				t.Logf("%s: %v %s", m.Name, m.Value, m.Unit)
			}
		})
	}
}
