package main

import (
	"context"
	"fmt"
	"time"

	"ulnet/gossip/zone"
	"ulnet/gossip/zone/zonesim"
)

// How some nodes are ill: each of their steps takes longer, or they are stopped and
// continued as in G-GO-4.
var (
	slowSteps = []time.Duration{50 * time.Millisecond, 150 * time.Millisecond, 500 * time.Millisecond}
	slowFor   = time.Minute
)

const (
	slowNodes   = 4
	blockedFor  = 8 * time.Second
	continuedIn = 100 * time.Millisecond
)

// measureZoneSlow is G-MS-8.
func measureZoneSlow(ctx context.Context, b *bench) ([]line, error) {
	seeds := pick(b, 1, 5, 20)
	var lines []line
	for _, c := range []struct {
		what string
		zone zone.Config
		free bool
	}{{"Θ=2, K_s=2", zone.Config{Threshold: 2, Successors: 2}, false}, {"Θ=1", zone.Config{Threshold: 1, Successors: 2}, true}} {
		slow, err := illness(seeds, func(seed uint64) (sum zonesim.Slowness, err error) {
			for _, step := range slowSteps {
				s, err := zonesim.Measured{Nodes: 64, Seed: seed, Zone: c.zone}.Slow(ctx, slowNodes, step, slowFor)
				if err != nil {
					return sum, err
				}
				sum.Removed, sum.Slow = sum.Removed+s.Removed, sum.Slow+s.Slow
			}
			return sum, nil
		})
		if err != nil {
			return nil, err
		}
		blocked, err := illness(seeds, func(seed uint64) (zonesim.Slowness, error) {
			return zonesim.Measured{Nodes: 64, Seed: seed, Zone: c.zone}.Block(ctx, slowNodes, blockedFor, continuedIn, slowFor)
		})
		if err != nil {
			return nil, err
		}
		ill := func(how, basis string, s zonesim.Slowness) line {
			return line{
				what: fmt.Sprintf("%d %s nodes of 64, %s: removals of others that any node told", slowNodes, how, c.what), ratio: float64(s.Removed), unit: "removals", free: c.free,
				basis: fmt.Sprintf("%s, %d seeds, %v each; removals of these nodes %d; virtual time", basis, seeds, slowFor, s.Slow),
			}
		}
		lines = append(lines,
			ill("slow", fmt.Sprintf("a step of theirs takes %v longer", slowSteps), slow),
			ill("blocked", fmt.Sprintf("they stand still for %v and run for %v", blockedFor, continuedIn), blocked),
		)
	}
	return lines, nil
}

// illness sums what came of all seeds.
func illness(seeds int, f func(seed uint64) (zonesim.Slowness, error)) (sum zonesim.Slowness, err error) {
	list, err := bySeed(seeds, f)
	for _, s := range list {
		sum.Removed, sum.Slow = sum.Removed+s.Removed, sum.Slow+s.Slow
	}
	if err == nil && sum.Slow == 0 {
		err = fmt.Errorf("nobody noticed %d nodes that are ill", slowNodes)
	}
	return sum, err
}
