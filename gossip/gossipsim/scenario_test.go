package gossipsim_test

import (
	"bytes"
	"testing"

	"ulnet/gossip/gossipsim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/scenariotest"
)

func parse(t *testing.T, text string) *scenario.File {
	t.Helper()
	return scenariotest.Parse(t, gossipsim.Protocol, text)
}

const faults = `protocol gossip
nodes 20
run 60s
link latency 1ms±200µs loss 2%
expect views-equal by 5s
expect alive 20 at 5s
expect quorum at 5s
at 5s kill 17
expect dead 17 within 4.2s
at 10s restart 17
expect known 17 within 8s
at 20s pause 3 for 8s
at 21s crash 4
expect dead 3,4 within 6s
expect known 3 within 13s
at 35s partition 1-6 | 7-20
expect no-quorum 1-6 within 5s
expect quorum 7-20 at 41s
at 42s heal
expect views-equal within 3s
expect alive 19
always no-false-death
always no-resurrection
always detected-within 20
`

// TestFaults: the expectations of one scenario hold at both levels, with bare machines and with
// stacks. Two runs at the same level have the same digest.
func TestFaults(t *testing.T) {
	f := parse(t, faults)
	for _, level := range gossipsim.Protocol.Levels {
		t.Run(level.String(), func(t *testing.T) {
			first := scenariotest.Run(t, f, scenario.Options{Level: level})
			scenariotest.Holds(t, first)
			if level == scenario.Stacks && testing.Short() {
				return
			}
			if again := scenariotest.Run(t, f, scenario.Options{Level: level}); again.Digest != first.Digest {
				t.Errorf("digest %016x, then %016x", first.Digest, again.Digest)
			}
		})
	}
}

// TestReplay: the machines of a recorded run answer in the same way without a network, also
// after commands, restarts and duplicated messages.
func TestReplay(t *testing.T) {
	f := parse(t, `protocol gossip
nodes 12
run 12s
link latency 1ms loss 1% duplicate 5%
set members 10
boot 11-12 at 3s
at 2s do 1-10 stage 1-12
at 4s do 1-10 commit
at 5s kill 5
at 6s do 3 misconfigure interval
at 9s restart 5
`)
	var recording bytes.Buffer
	res := scenariotest.Run(t, f, scenario.Options{Record: &recording})
	done, err := scenario.Replay(t.Context(), &recording, []*scenario.Protocol{gossipsim.Protocol}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if done.Digest != res.Digest {
		t.Errorf("digest %016x, the run had %016x", done.Digest, res.Digest)
	}
}
