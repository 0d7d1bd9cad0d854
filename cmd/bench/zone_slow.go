package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ulnet/lnd/sim/scenario"
)

// How some nodes are ill for a minute: each of their steps takes longer, or they are stopped
// and continued as in G-GO-4.
var slowSteps = []time.Duration{50 * time.Millisecond, 150 * time.Millisecond, 500 * time.Millisecond}

const standStill = "every 8.1s from 12s to 72s pause 1-4 for 8s"

// measureZoneSlow is G-MS-8.
func measureZoneSlow(ctx context.Context, b *bench) ([]line, error) {
	seeds := pick(b, 1, 5, 20)
	var lines []line
	for _, theta := range []int{2, 1} {
		slow := illness{}
		for _, step := range slowSteps {
			if err := slow.add(ctx, seeds, theta, fmt.Sprintf("at 12s slow 1-4 %v\nat 72s slow 1-4 0s", step)); err != nil {
				return nil, err
			}
		}
		still := illness{}
		if err := still.add(ctx, seeds, theta, standStill); err != nil {
			return nil, err
		}
		if slow.removed == 0 || still.removed == 0 {
			return nil, errors.New("nobody noticed nodes that are ill")
		}
		ill := func(how, basis string, i illness) line {
			return line{
				what: fmt.Sprintf("4 %s nodes of 64, Θ=%d, K_s=2: removals of others that any node told", how, theta), ratio: i.others, unit: "removals", free: theta == 1,
				basis: fmt.Sprintf("%s, %d seeds, a minute each; removals of these nodes %.0f; virtual time", basis, seeds, i.removed-i.others),
			}
		}
		lines = append(lines,
			ill("slow", fmt.Sprintf("a step of theirs takes %v longer", slowSteps), slow),
			ill("blocked", "they stand still for 8s and run for 100ms", still),
		)
	}
	return lines, nil
}

// illness is how many removals nodes told, and of how many that were well.
type illness struct{ removed, others float64 }

// add adds what came of all seeds.
func (i *illness) add(ctx context.Context, seeds, theta int, faults string) error {
	list, err := bySeed(seeds, func(seed uint64) (*scenario.Result, error) {
		return simulate(ctx, "zone-ill", seed, "THETA", theta, "ILL", faults)
	})
	for _, res := range list {
		i.removed += res.Measure("removals told")
		i.others += res.Measure("false removals")
	}
	return err
}
