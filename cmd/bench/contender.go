package main

import (
	"fmt"
	"time"
)

// contender is one of the programs that are compared.
type contender struct {
	name string
	run  func(of *contender) (latencies, error) // run runs one round and returns its latencies

	all     []latencies // for each round, the latency of each operation, or only their mean
	cpu     []float64   // for each round, the CPU time per operation of all processes together, in ns
	mallocs []float64   // for each round, the heap objects that a process allocates per operation, as the mean of all processes
}

// timed returns a contender whose rounds have n operations. The function run performs them, and
// returns the time that they took together.
func (b *bench) timed(name string, n int, run func() (time.Duration, error)) *contender {
	return &contender{name: name, run: func(of *contender) (latencies, error) {
		var elapsed time.Duration
		var used usage
		err := b.profile.during(b.peer, name, n, func() (_ time.Duration, err error) {
			elapsed, used, err = b.spent(run)
			return used.CPU, err
		})
		of.cpu = append(of.cpu, float64(used.CPU)/float64(n))
		return latencies{float64(elapsed) / float64(n)}, err
	}}
}

// alternate runs every contender once per round. Each round begins with the contender that was
// second in the previous round. Except at the effort aGlance, a warm-up round comes first, whose
// results are discarded.
func (b *measurement) alternate(rounds int, contenders ...*contender) {
	first := pick(b, 0, -1, -1)
	for round := first; round < rounds; round++ {
		if round == 0 {
			for _, c := range contenders {
				c.cpu, c.mallocs = nil, nil
			}
		}
		for i := range contenders {
			c := contenders[(i+round-first)%len(contenders)]
			var took latencies
			err := caught(func() { took = must(c.run(c)) })
			if err != nil {
				err = fmt.Errorf("%s: %w", c.name, err)
			}
			b.check(err)
			if round >= 0 {
				c.all = append(c.all, took)
			}
		}
	}
}

// each returns a percentile of the latencies of each round.
func (c *contender) each(part float64) (v []float64) {
	for _, round := range c.all {
		v = append(v, round.percentile(part))
	}
	return v
}

// rates returns operations per nanosecond for each round.
func (c *contender) rates() []float64 {
	v := c.each(0.5)
	for i := range v {
		v[i] = 1 / v[i]
	}
	return v
}

// against returns the line that compares a percentile of the latencies of both contenders. Here
// and below, a limit of 0 means that no goal bounds the ratio.
func (c *contender) against(other *contender, what string, part, limit float64) line {
	return beside(other.name, what, limit, c.each(part), other.each(part), 1e-3, "%.0f µs")
}

// half returns the line that compares half of the median round-trip times of both contenders.
func (c *contender) half(other *contender, what string, limit float64) line {
	return beside(other.name, what, limit, c.each(0.5), other.each(0.5), 0.5e-3, "%.2f µs")
}

// costs returns the line that compares the CPU time for operations that move 1 MiB each.
func (c *contender) costs(other *contender, what string, limit float64) line {
	return beside(other.name, what, limit, c.cpu, other.cpu, 1024e-6, "%.0f ms/GiB")
}

// speed returns the line that compares the rates of both contenders. The argument scale converts operations
// per nanosecond to the unit in format, as mebibytes does to GiB/s.
func (c *contender) speed(other *contender, what string, limit, scale float64, format string) line {
	l := beside(other.name, what, limit, c.rates(), other.rates(), scale, format)
	l.least = true
	return l
}

// mebibytes is the factor from operations of 1 MiB per nanosecond to GiB/s.
const mebibytes = 1e9 / 1024

// beside returns the line that compares samples of two systems, which were taken in the same rounds.
func beside(other, what string, limit float64, ours, theirs []float64, scale float64, format string) line {
	return line{
		what: what, ratio: compare(ours, theirs), limit: limit, free: limit == 0,
		basis: fmt.Sprintf(format+", %s "+format, median(ours)*scale, other, median(theirs)*scale),
	}
}

// figure is a value that is compared between two systems, each of which runs the same script by
// itself.
type figure[T any] struct {
	what string
	of   func(T) float64
	unit string
}

// ratios returns a line for each figure, none of which a goal bounds. The slices ours and theirs
// have one value per round.
func ratios[T any](list []figure[T], ours, theirs []T, format, basis string) (lines []line) {
	for _, f := range list {
		var a, b []float64
		for i := range ours {
			a, b = append(a, f.of(ours[i])), append(b, f.of(theirs[i]))
		}
		lines = append(lines, line{
			what: f.what, ratio: compare(a, b), free: true,
			basis: fmt.Sprintf(format+" %s; %s", median(a), median(b), f.unit, basis),
		})
	}
	return lines
}

// skipped returns the lines that ratios would return, marked as skipped because the other system
// is missing.
func skipped[T any](list []figure[T], why string) (lines []line) {
	for _, f := range list {
		lines = append(lines, line{what: f.what, free: true, skipped: why})
	}
	return lines
}
