package flood_test

import (
	"testing"
	"time"

	"ulnet/lnd/sim/flood"
	"ulnet/lnd/sim/scenario"
)

const text = `protocol flood
nodes 60
seed 5
run 20s
link latency 1ms±0.2ms loss 1%
set again 200ms
at 1s do 17 tell 1
expect heard all within 3s
at 4s kill 20-29
at 5s do 1 tell 2
at 6s restart 20-24
at 6s restart 25-29 keeping state
at 7s partition 1-30 | 31-60
at 8s do 3 tell 3
always unheard 31-60 3 from 8s to 10s
at 9s pause 50-59 for 500ms
at 10s heal
expect heard all within 8s
always remembered
always heard-once
`

// TestEveryNodeHears: the same file runs at both levels, with the same result each time.
func TestEveryNodeHears(t *testing.T) {
	f, err := scenario.Parse("test", []byte(text), []*scenario.Protocol{flood.Protocol})
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range flood.Protocol.Levels {
		t.Run(level.String(), func(t *testing.T) {
			first := run(t, f, level)
			for _, o := range first.Expects {
				if !o.OK {
					t.Errorf("line %d: %s: failed at %v: %s", o.Line, o.Text, o.At, o.Why)
				}
			}
			if again := run(t, f, level); again.Digest != first.Digest {
				t.Errorf("digest %016x, then %016x", first.Digest, again.Digest)
			}
		})
	}
}

func run(t *testing.T, f *scenario.File, level scenario.Level) *scenario.Result {
	t.Helper()
	res, err := scenario.Run(t.Context(), f, scenario.Options{Level: level})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestUnheard: the condition "unheard" fails once one of its nodes has heard its rumour. Other rumours do
// not matter.
func TestUnheard(t *testing.T) {
	f, err := scenario.Parse("test", []byte(`protocol flood
nodes 60
run 5s
set fanout 0
at 1s do 40 tell 1
always unheard 2-60 1
always unheard 2-39,41-60 1
always unheard all 2
`), []*scenario.Protocol{flood.Protocol})
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range run(t, f, scenario.Machines).Expects {
		if o.OK != (i > 0) || i == 0 && (o.At != time.Second || o.Why != "node 40 has heard rumour 1") {
			t.Errorf("%s: %v at %v: %s", o.Text, o.OK, o.At, o.Why)
		}
	}
}
