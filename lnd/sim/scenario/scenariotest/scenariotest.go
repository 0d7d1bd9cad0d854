// Package scenariotest has what tests of protocols in scenarios share: it runs texts,
// says what did not hold, and compares the tables of docs/scenarios.md with what a
// protocol understands.
package scenariotest

import (
	"testing"

	"ulnet/lnd/sim/scenario"
)

// Parse parses the text of a scenario of p.
func Parse(t testing.TB, p *scenario.Protocol, text string) *scenario.File {
	t.Helper()
	f, err := scenario.Parse("test", []byte(text), []*scenario.Protocol{p})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Run runs the scenario f without samples.
func Run(t testing.TB, f *scenario.File, o scenario.Options) *scenario.Result {
	t.Helper()
	o.SampleEvery = -1
	res, err := scenario.Run(t.Context(), f, o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// Holds fails the test with what did not hold.
func Holds(t testing.TB, res *scenario.Result) {
	t.Helper()
	for _, o := range res.Expects {
		if !o.OK {
			t.Errorf("seed %d, line %d: %s: failed at %v: %s", res.Seed, o.Line, o.Text, o.At, o.Why)
		}
	}
}
