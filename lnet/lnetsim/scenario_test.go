package lnetsim

import (
	"testing"

	"ulnet/lnd/sim/scenario"
)

// TestScenario: faults in a file, conditions on operations and credits.
func TestScenario(t *testing.T) {
	const text = `protocol lnet
nodes 40
run 60s
link latency 1ms±0.2ms
set rate 5
set partners 10
set window 65536
at 2s kill 17
at 3s pause 3 for 2s
at 4s partition 1-20 | 21-40
at 6s heal
at 8s restart 17
at 20s do 1 put 2 5
at 30s do all stop
expect settled within 20s
expect credits-returned within 20s
always exactly-once
`
	f, err := scenario.Parse("test", []byte(text), []*scenario.Protocol{Protocol})
	if err != nil {
		t.Fatal(err)
	}
	var digests [2]uint64
	for i := range digests {
		res, err := scenario.Run(t.Context(), f, scenario.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range res.Expects {
			if !o.OK {
				t.Errorf("line %d: %s: failed at %v: %s", o.Line, o.Text, o.At, o.Why)
			}
		}
		digests[i] = res.Digest
		t.Log(res.Measures)
	}
	if digests[0] != digests[1] {
		t.Errorf("digests %x and %x of one seed", digests[0], digests[1])
	}
}
