package rmcastsim_test

import (
	"bytes"
	"testing"

	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/scenariotest"
	"ulnet/scoll/rmcast/rmcastsim"
)

// TestReplay: the machines of a recorded run give the same output without a network, also with
// deaths, restarts and lost datagrams.
func TestReplay(t *testing.T) {
	for _, text := range []string{mildPlan(3), wildPlan(4), wildPlan(5)} {
		f := parse(t, text)
		var recording bytes.Buffer
		res := scenariotest.Run(t, f, scenario.Options{Record: &recording})
		scenariotest.Holds(t, res)
		done, err := scenario.Replay(t.Context(), &recording, []*scenario.Protocol{rmcastsim.Protocol}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if done.Digest != res.Digest || !done.Machines {
			t.Errorf("digest %016x, the run had %016x", done.Digest, res.Digest)
		}
	}
}

// TestSameTwice: the same file and seed give the same run, at both levels.
func TestSameTwice(t *testing.T) {
	f := parse(t, wildPlan(5))
	for _, level := range rmcastsim.Protocol.Levels {
		first, again := scenariotest.Run(t, f, scenario.Options{Level: level}), scenariotest.Run(t, f, scenario.Options{Level: level})
		if first.Digest != again.Digest {
			t.Errorf("%v: digest %016x, then %016x", level, first.Digest, again.Digest)
		}
	}
}
