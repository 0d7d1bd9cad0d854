package main

import (
	"fmt"
	"time"
)

// contender is one of the programs that are compared.
type contender struct {
	name string
	run  func(of *contender) (latencies, error) // one round

	all     []latencies // by round: of each operation, or one for all of them
	cpu     []float64   // nanoseconds of all processes for an operation, by round
	mallocs []float64   // heap objects of one process for an operation, by round
}

// timed is a contender whose rounds have n operations; run returns how long they took.
func (b *bench) timed(name string, n int, run func() (time.Duration, error)) *contender {
	return &contender{name: name, run: func(of *contender) (latencies, error) {
		elapsed, used, err := b.spent(run)
		of.cpu = append(of.cpu, float64(used.CPU)/float64(n))
		return latencies{float64(elapsed) / float64(n)}, err
	}}
}

// alternate runs every contender once in each round, in turning order, after a
// round that is not counted if it is not for a glance.
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
			took, err := c.run(c)
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

// each returns a percentile of each round.
func (c *contender) each(part float64) (v []float64) {
	for _, round := range c.all {
		v = append(v, round.percentile(part))
	}
	return v
}

// rates returns operations in a nanosecond, by round.
func (c *contender) rates() []float64 {
	v := c.each(0.5)
	for i := range v {
		v[i] = 1 / v[i]
	}
	return v
}

// against makes a line of a percentile of ours and of another's. Limit 0: no
// goal bounds it, here and below.
func (c *contender) against(other *contender, what string, part, limit float64) line {
	return beside(other.name, what, limit, c.each(part), other.each(part), 1e-3, "%.0f µs")
}

// half makes one of half a round trip.
func (c *contender) half(other *contender, what string, limit float64) line {
	return beside(other.name, what, limit, c.each(0.5), other.each(0.5), 0.5e-3, "%.2f µs")
}

// costs makes one of CPU time, where an operation moves 1 MiB.
func (c *contender) costs(other *contender, what string, limit float64) line {
	return beside(other.name, what, limit, c.cpu, other.cpu, 1024e-6, "%.0f ms/GiB")
}

// speed makes one of the rate of operations, which has a unit.
func (c *contender) speed(other *contender, what string, limit, scale float64, format string) line {
	l := beside(other.name, what, limit, c.rates(), other.rates(), scale, format)
	l.least = true
	return l
}

// mebibytes is the scale of GiB/s where an operation moves 1 MiB.
const mebibytes = 1e9 / 1024

// beside is a line about samples of the same rounds.
func beside(other, what string, limit float64, ours, theirs []float64, scale float64, format string) line {
	return line{
		what: what, ratio: compare(ours, theirs), limit: limit, free: limit == 0,
		basis: fmt.Sprintf(format+", %s "+format, median(ours)*scale, other, median(theirs)*scale),
	}
}

// figure is one that two systems have, whose scripts run apart.
type figure[T any] struct {
	what string
	of   func(T) float64
	unit string
}

// ratios are lines of figures of rounds of both, which no goal bounds.
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

// skipped are the same lines where the other system is missing.
func skipped[T any](list []figure[T], why string) (lines []line) {
	for _, f := range list {
		lines = append(lines, line{what: f.what, free: true, skipped: why})
	}
	return lines
}
