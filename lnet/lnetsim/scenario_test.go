package lnetsim

import (
	"testing"

	"ulnet/lnd/sim/scenario"
)

// TestScenario: in a scenario with faults, all operations end and all credits come back.
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

// TestScenarioErrors: errors in a file are reported with their position.
func TestScenarioErrors(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"at 1s do 1 put 11", "test:4:16: 11: nodes are numbered 1 to 10"},
		{"at 1s do 1 put 2 0", `test:4:18: "0": want a whole number, 1 to 1048576`},
		{"set rate -5", `test:4:10: "-5": want a number, 0 to 1000000`},
		{"set size 1048577", `test:4:10: "1048577": want a whole number, 0 to 1048576`},
		{"set peer-credits 0", `test:4:18: "0": want a whole number, 1 to 1048576`},
	} {
		_, err := scenario.Parse("test", []byte("protocol lnet\nnodes 10\nrun 2s\n"+c.line), []*scenario.Protocol{Protocol})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: error %v: want %s", c.line, err, c.want)
		}
	}
	_, err := scenario.Parse("test", []byte("protocol lnet\nnodes 1\nrun 2s\n"), []*scenario.Protocol{Protocol})
	if want := `test:2:7: "1": want the number of nodes, 2 to 4194304`; err == nil || err.Error() != want {
		t.Errorf("error %v: want %s", err, want)
	}
}

// TestEmptyPayload: a size of 0 is no payload, not the default.
func TestEmptyPayload(t *testing.T) {
	f, err := scenario.Parse("test", []byte("protocol lnet\nnodes 2\nrun 1s\nset rate 0\nset size 0\nset discovery off\nat 1ms do 1 put 2\nexpect all-answered\n"), []*scenario.Protocol{Protocol})
	if err != nil {
		t.Fatal(err)
	}
	sent := func() uint64 {
		res, err := scenario.Run(t.Context(), f, scenario.Options{})
		if err != nil || !res.OK() {
			t.Fatal(err, res)
		}
		return res.Stats.SentBytes
	}
	none := sent()
	f.Options["size"] = "10"
	if some := sent(); some != none+10 {
		t.Errorf("%d bytes without payload, %d with 10", none, some)
	}
}
