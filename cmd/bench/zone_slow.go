package main

import (
	"errors"
	"fmt"
	"time"

	"ulnet/lnd/sim/scenario"
)

// slowSteps are the delays of slow nodes, one for each series of runs: for a minute, each step of some
// nodes takes longer by this delay. In further runs, these nodes are stopped and continued as for goal G-GO-4.
var slowSteps = []time.Duration{50 * time.Millisecond, 150 * time.Millisecond, 500 * time.Millisecond}

const standStill = "every 8.1s from 12s to 72s pause 1-4 for 8s"

// measureZoneSlow measures goal G-MS-8: how many healthy nodes are removed while four nodes are slow
// or blocked.
func measureZoneSlow(b *measurement) {
	seeds := pick(b, 1, 5, 20)
	for _, theta := range []int{2, 1} {
		slow := removals{}
		for _, step := range slowSteps {
			slow.add(b, seeds, theta, fmt.Sprintf("at 12s slow 1-4 %v\nat 72s slow 1-4 0s", step))
		}
		still := removals{}
		still.add(b, seeds, theta, standStill)
		if slow.removed == 0 || still.removed == 0 {
			b.check(errors.New("no node noticed nodes that are ill"))
		}
		ill := func(how, basis string, i removals) line {
			return line{
				what: fmt.Sprintf("4 %s nodes of 64, Θ=%d, K_s=2: removals of others that any node told", how, theta), ratio: i.others, unit: "removals", free: theta == 1,
				basis: fmt.Sprintf("%s, %d seeds, a minute each; removals of these nodes %.0f; virtual time", basis, seeds, i.removed-i.others),
			}
		}
		b.add(
			ill("slow", fmt.Sprintf("a step of theirs takes %v longer", slowSteps), slow),
			ill("blocked", "they stand still for 8s and run for 100ms", still),
		)
	}
}

// removals counts reported removals. The field removed counts those of all nodes, and the field others only
// those of healthy nodes.
type removals struct{ removed, others float64 }

// add runs the scenario with several seeds, and adds their numbers of removals.
func (i *removals) add(b *measurement, seeds, theta int, faults string) {
	list := bySeed(b, seeds, func(seed uint64) (*scenario.Result, error) {
		return simulate(b.ctx, "zone-ill", seed, "THETA", theta, "ILL", faults)
	})
	for _, res := range list {
		i.removed += res.Measure("removals told")
		i.others += res.Measure("false removals")
	}
}
