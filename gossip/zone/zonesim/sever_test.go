package zonesim_test

import (
	"fmt"
	"testing"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/sim/scenario/scenariotest"
)

// severed returns a scenario with two zones below three supervisors, in which links between
// them fall silent.
func severed(sever int, then string) string {
	return fmt.Sprintf("protocol zone\nnodes 13\nrun 40s\nset supervisors 3\nset zones 2\nset check on\nset sever %d\nset sever-at 8s\n"+
		"check every 100ms\nlink latency 500µs\nalways census-kept from 6s\nalways no-false-removal\nalways alternating\n%s", sever, then)
}

// TestSeveredLinks: MS-98, MS-100: links between supervisors and delegates of two zones fall
// silent. With machines and with stacks, the census is right again within the bound, and stays
// right.
func TestSeveredLinks(t *testing.T) {
	spec.Covers(t, "MS-98", "MS-100")
	for _, level := range []scenario.Level{scenario.Machines, scenario.Stacks} {
		for seed, sever := range []int{6, 10, 14, 18} {
			if level == scenario.Stacks && sever != 14 {
				continue // one case is enough to show that stacks behave in the same way
			}
			s := uint64(seed)
			f := parse(t, severed(sever, "always census-told from 20.1s\n"))
			scenariotest.Holds(t, scenariotest.Run(t, f, scenario.Options{Seed: &s, Level: level}))
		}
	}
}

// TestSeveredSeen: the conditions detect a census that is wrong, or lacks a zone.
func TestSeveredSeen(t *testing.T) {
	for then, sever := range map[string]int{"expect census-told at 8.1s\n": 18, "expect census-right at 30s\n": 18, "at 9s do 4-13 leave 0\nexpect census-kept at 12s\n": 0} {
		res := scenariotest.Run(t, parse(t, severed(sever, then)), scenario.Options{})
		failed := 0
		for _, o := range res.Expects {
			if !o.OK {
				failed++
			}
		}
		if failed == 0 {
			t.Errorf("%q holds", then)
		}
	}
}
