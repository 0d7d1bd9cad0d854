package main

import (
	"context"
	"fmt"
	"time"
)

// The payload of G-LN-1 and the round trips of one round.
const (
	smallSize  = 8
	roundTrips = 20_000
)

// sizes are the payloads that are sent back and forth, with the round trips of
// one round and the bounds of G-LN-2.
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

// measureLatency is G-LN-1: half a round trip, from a handler that Puts to the
// handler of the other node, and from a Put to the end of an EQ's Wait.
func measureLatency(ctx context.Context, b *bench) ([]line, error) {
	trips := b.some(roundTrips)
	s, err := b.interleave([]contender{
		{"raw", func() (time.Duration, error) { return b.raw.roundTrips(smallSize, trips) }},
		{"handler", func() (time.Duration, error) { return b.node.pingHandlers(ctx, 0, trips) }},
		{"EQ", func() (time.Duration, error) { return b.node.pingEQs(ctx, trips) }},
	})
	if err != nil {
		return nil, err
	}
	return []line{
		halfRoundTrip("8 B PUT half round trip, handler to handler", 0, trips, s[1], s[0]),
		halfRoundTrip("8 B PUT half round trip, through EQ.Wait", 0, trips, s[2], s[0]),
	}, nil
}

// halfRoundTrip is a line about so many round trips of sizes[i].
func halfRoundTrip(what string, i, trips int, ours, raw samples) line {
	half := func(s samples) string {
		return fmt.Sprintf("%.2f µs", median(s.elapsed)/float64(trips)/2/1e3)
	}
	return line{
		what: what, ratio: compare(ours.elapsed, raw.elapsed), limit: sizes[i].limit,
		basis: fmt.Sprintf("%s, raw %s", half(ours), half(raw)),
	}
}

// measureLargeLatency is G-LN-2: as G-LN-1 between handlers, with more to carry.
func measureLargeLatency(ctx context.Context, b *bench) (lines []line, err error) {
	for i, size := range sizes[1:] {
		i++
		trips := b.some(size.trips)
		s, err := b.interleave([]contender{
			{"raw", func() (time.Duration, error) { return b.raw.roundTrips(size.bytes, trips) }},
			{"handler", func() (time.Duration, error) { return b.node.pingHandlers(ctx, i, trips) }},
		})
		if err != nil {
			return nil, err
		}
		lines = append(lines, halfRoundTrip(size.name+" PUT half round trip, handler to handler", i, trips, s[1], s[0]))
	}
	return lines, nil
}
