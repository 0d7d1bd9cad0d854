package scollsim_test

import (
	"bytes"
	"testing"

	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/scenariotest"
	"ulnet/scoll/scollsim"
)

// TestReplay: the machines of a recorded run have the same outputs without a network, also
// after deaths, restarts, duplicates and faults of services.
func TestReplay(t *testing.T) {
	for _, text := range []string{`protocol scoll
nodes 12
run 12s
link latency 1ms duplicate 5% reorder 10%
set rtt 4ms
set discovery 300ms
boot 12 at 500ms
at 1s do 1 create g delayed 1-11
at 1.5s do 1 broadcast g all 10ms 5000
at 2s kill 9
at 2.1s do 1 broadcast g
at 3s do 1 broadcast g live
at 4s do 5 service slow 20ms
at 4s do 2 broadcast g live
at 5s restart 9
at 7s do 1 create h immediate
at 8s do 12 broadcast h all 50ms
expect reached-all h
`, scollsim.FaultPlan(3), scollsim.FaultPlan(4)} {
		f := parse(t, text)
		var recording bytes.Buffer
		res := scenariotest.Run(t, f, scenario.Options{Record: &recording})
		scenariotest.Holds(t, res)
		done, err := scenario.Replay(t.Context(), &recording, []*scenario.Protocol{scollsim.Protocol}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if done.Digest != res.Digest {
			t.Errorf("digest %016x, the run had %016x", done.Digest, res.Digest)
		}
	}
}

// TestSameTwice: two runs of the same file with the same seed are equal, at both levels.
func TestSameTwice(t *testing.T) {
	f := parse(t, scollsim.FaultPlan(5))
	for _, level := range scollsim.Protocol.Levels {
		first, again := scenariotest.Run(t, f, scenario.Options{Level: level}), scenariotest.Run(t, f, scenario.Options{Level: level})
		if first.Digest != again.Digest {
			t.Errorf("%v: digest %016x, then %016x", level, first.Digest, again.Digest)
		}
	}
}
