package main

import (
	"fmt"
	"time"
)

// contender is one of the programs that are compared.
type contender struct {
	name string
	run  func() (time.Duration, error) // one round; returns how long it took
}

// samples are one contender's figures, a value for each round.
type samples struct {
	elapsed, cpu []float64 // nanoseconds; cpu is of both processes together
}

// interleave runs every contender once in each round, in turning order, after
// a round that is not counted.
func (b *bench) interleave(contenders []contender) ([]samples, error) {
	result := make([]samples, len(contenders))
	for round := -1; round < b.rounds; round++ {
		for i := range contenders {
			i = (i + round + 1) % len(contenders)
			elapsed, used, err := b.spent(contenders[i].run)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", contenders[i].name, err)
			}
			if round >= 0 {
				result[i].elapsed = append(result[i].elapsed, float64(elapsed))
				result[i].cpu = append(result[i].cpu, float64(used.CPU))
			}
		}
	}
	return result, nil
}

// inverse turns times into rates for ratios of throughput.
func inverse(v []float64) []float64 {
	r := make([]float64, len(v))
	for i := range v {
		r[i] = 1 / v[i]
	}
	return r
}
