package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// The payload of goal G-LN-1, and the number of its round trips in a round.
const (
	smallSize  = 8
	roundTrips = 10_000
)

// sizes contains the payloads, with the number of round trips in a round, and the bounds of
// goals G-LN-1 and G-LN-2.
var sizes = []struct {
	bytes int
	name  string
	trips int
	raw   float64 // bound for the ratio to plain TCP; 0 if the ratio to the bare loop has a bound
	bare  float64 // bound for the ratio to the bare loop; 0 if the ratio to plain TCP has a bound
}{
	{smallSize, "8 B", roundTrips, 1.10, 0},
	{64, "64 B", roundTrips, 0, 1.15},
	{256, "256 B", roundTrips, 0, 1.15},
	{1 << 10, "1 KiB", roundTrips, 0, 1.15},
	{4 << 10, "4 KiB", roundTrips, 0, 1.15},
	{16 << 10, "16 KiB", 5_000, 0, 1.15},
	{64 << 10, "64 KiB", 3_000, 0, 1.15},
	{bulk, "1 MiB", 300, 1.05, 0},
}

// worstRound bounds the ratio of a contender's slowest round to its median one. A larger ratio
// would mean that a program may see two different speeds.
const worstRound = 1.5

// measureLatency measures goal G-LN-1: half a round trip of the smallest payload.
func measureLatency(b *measurement) { b.latency(0) }

// measureLargeLatency measures goal G-LN-2: half a round trip of each other payload.
func measureLargeLatency(b *measurement) {
	for size := range sizes[1:] {
		b.latency(size + 1)
	}
}

// measureFloor measures G-FLOOR: the bare loop compared with plain TCP.
func measureFloor(b *measurement) {
	for size := range sizes {
		raw, bare := b.floor(size)
		b.alternate(b.rounds, raw, bare)
		b.add(bare.half(raw, sizes[size].name+" half round trip, the bare loop to plain TCP", 0))
	}
	writes, count := b.some(rawWrites), b.some(bareCount)
	raw := b.timed("raw", writes*recordsPerWrite, func() (time.Duration, error) { return b.raw.put(smallSize*recordsPerWrite, writes) })
	bare := b.timed("bare", count, func() (time.Duration, error) { return b.bare.flood(count) })
	b.alternate(b.rounds, raw, bare)
	b.add(bare.speed(raw, "8 B messages a second, one way, the bare loop to plain TCP", 0, 1e3, "%.2f M/s"))
}

// floor returns the contenders that LNet's latency is compared with.
func (b *measurement) floor(size int) (raw, bare *contender) {
	trips := b.some(sizes[size].trips)
	raw = b.timed("raw", trips, func() (time.Duration, error) { return b.raw.roundTrips(sizes[size].bytes, trips) })
	bare = b.timed("bare loop", trips, func() (time.Duration, error) { return b.bare.roundTrips(size, trips) })
	return raw, bare
}

// latency measures half a round trip of a payload between handlers, between goroutines that wait
// for events in their EQs, and between goroutines to which the handlers pass each message on a
// channel.
func (b *measurement) latency(size int) {
	s := sizes[size]
	raw, bare := b.floor(size)
	all := []*contender{raw, bare}
	for _, how := range waits {
		trips := b.some(s.trips)
		all = append(all, b.timed(how.name, trips, func() (time.Duration, error) { return b.node.pingPong(b.ctx, how.bits+uint64(size), trips) }))
	}
	b.alternate(b.rounds, all...)
	for _, c := range all[2:] {
		what := fmt.Sprintf("%s PUT half round trip, %s", s.name, c.name)
		rawLine, bareLine := c.half(raw, what, s.raw), c.half(bare, what+", to the bare loop", s.bare)
		worst := c.worst(what + ", the worst round to the median")
		if c.name == throughChannel { // a channel adds two switches of goroutines, which no goal bounds
			rawLine.free, bareLine.free, worst.free = true, true, true
		}
		b.add(rawLine, bareLine, worst)
	}
}

// worst returns the line that compares the slowest round of a contender with its median one.
func (c *contender) worst(what string) line {
	rounds := c.each(0.5)
	return line{
		what: what, ratio: slices.Max(rounds) / cmp.Or(median(rounds), 1), limit: worstRound,
		basis: fmt.Sprintf("%.2f µs of %d rounds", slices.Max(rounds)*0.5e-3, len(rounds)),
	}
}
