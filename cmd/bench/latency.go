package main

import (
	"time"
)

// The payload of G-LN-1 and the round trips of one round.
const (
	smallSize  = 8
	roundTrips = 20_000
)

// sizes are the payloads, with the round trips per round and the bounds of G-LN-2.
var sizes = []struct {
	bytes int
	name  string
	trips int
	limit float64
}{
	{smallSize, "8 B", roundTrips, 1.10},
	{4 << 10, "4 KiB", 10_000, 1.10},
	{64 << 10, "64 KiB", 3_000, 1.15},
	{bulk, "1 MiB", 300, 1.05},
}

// measureLatency measures goal G-LN-1: half a round trip between handlers, and between goroutines that
// wait in their EQs.
func measureLatency(b *measurement) {
	trips := b.some(roundTrips)
	raw := b.timed("raw", trips, func() (time.Duration, error) { return b.raw.roundTrips(smallSize, trips) })
	handler := b.timed("handler", trips, func() (time.Duration, error) { return b.node.pingHandlers(b.ctx, 0, trips) })
	eq := b.timed("EQ", trips, func() (time.Duration, error) { return b.node.pingEQs(b.ctx, trips) })
	b.alternate(b.rounds, raw, handler, eq)
	b.add(
		handler.half(raw, "8 B PUT half round trip, handler to handler", sizes[0].limit),
		eq.half(raw, "8 B PUT half round trip, through EQ.Wait", sizes[0].limit),
	)
}

// measureLargeLatency measures goal G-LN-2: like G-LN-1 between handlers, with larger payloads.
func measureLargeLatency(b *measurement) {
	for i, size := range sizes[1:] {
		trips := b.some(size.trips)
		raw := b.timed("raw", trips, func() (time.Duration, error) { return b.raw.roundTrips(size.bytes, trips) })
		handler := b.timed("handler", trips, func() (time.Duration, error) { return b.node.pingHandlers(b.ctx, i+1, trips) })
		b.alternate(b.rounds, raw, handler)
		b.add(handler.half(raw, size.name+" PUT half round trip, handler to handler", size.limit))
	}
}
