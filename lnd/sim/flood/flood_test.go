package flood_test

import (
	"testing"

	"ulnet/lnd/sim/flood"
	"ulnet/lnd/sim/scenario"
)

func TestEverybodyHears(t *testing.T) {
	text := `protocol flood
nodes 1000
run 5s
link latency 1ms±0.2ms loss 1%
set again 200ms
at 1s do 17 tell 1
expect heard all within 2s
always remembered
always heard-once
`
	f, err := scenario.Parse("test", []byte(text), []*scenario.Protocol{flood.Protocol})
	if err != nil {
		t.Fatal(err)
	}
	res, err := scenario.Run(t.Context(), f, scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range res.Expects {
		if !o.OK {
			t.Errorf("line %d: %s: failed at %v: %s", o.Line, o.Text, o.At, o.Why)
		}
	}
}
