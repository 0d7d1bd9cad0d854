package healthsim_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ulnet/health/healthsim"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim/scenario"
)

// TestExamplesOnStacks: goal G-CH-3, CH-33, CH-66: the embedded scenarios also pass on whole
// stacks with gossip, collectives and stores.
func TestExamplesOnStacks(t *testing.T) {
	spec.Covers(t, "CH-33", "CH-66", "G-CH-3")
	paths, err := filepath.Glob("../../cmd/lnetsim/examples/health-*.sim")
	if err != nil || len(paths) < 10 {
		t.Fatal(paths, err)
	}
	few := []string{"health-partition", "health-pause-client", "health-restart"}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".sim")
		switch {
		case !effort.Long() && !slices.Contains(few, name):
			continue
		}
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			f, err := scenario.Parse(name, text, []*scenario.Protocol{healthsim.Protocol})
			if err != nil {
				t.Fatal(err)
			}
			res, err := scenario.Run(t.Context(), f, scenario.Options{Level: scenario.Stacks, SampleEvery: -1})
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range res.Expects {
				if !o.OK {
					t.Errorf("line %d: %s: failed at %v: %s", o.Line, o.Text, o.At, o.Why)
				}
			}
		})
	}
}
