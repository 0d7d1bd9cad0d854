package main

import (
	"context"
	"fmt"
	"time"
)

// The payload of a latency measurement and the round trips of one round.
const (
	smallSize  = 8
	roundTrips = 20_000
)

// measureLatency is G-LN-1: half a round trip, from a handler that Puts to the
// handler of the other node, and from a Put to the end of an EQ's Wait.
func measureLatency(ctx context.Context, b *bench) ([]line, error) {
	s, err := b.interleave([]contender{
		{"raw", func() (time.Duration, error) { return b.raw.roundTrips(smallSize, roundTrips) }},
		{"handler", func() (time.Duration, error) { return b.node.pingHandlers(ctx, roundTrips) }},
		{"EQ", func() (time.Duration, error) { return b.node.pingEQs(ctx, roundTrips) }},
	})
	if err != nil {
		return nil, err
	}
	half := func(s samples) string { return fmt.Sprintf("%.2f µs", median(s.elapsed)/roundTrips/2/1e3) }
	bound := func(what string, ours samples) line {
		return line{
			what: what, ratio: compare(ours.elapsed, s[0].elapsed), limit: 1.10,
			basis: fmt.Sprintf("%s, raw %s", half(ours), half(s[0])),
		}
	}
	return []line{
		bound("8 B PUT half round trip, handler to handler", s[1]),
		bound("8 B PUT half round trip, through EQ.Wait", s[2]),
	}, nil
}
