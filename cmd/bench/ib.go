package main

import (
	"context"
	"fmt"
	"time"
)

// measureIBLatency is G-IB-1: half a round trip of 8 B over o2iblnd, beside socklnd, the
// device alone, and plain programs over UDP and TCP.
func measureIBLatency(ctx context.Context, b *bench) ([]line, error) {
	p, err := b.pair(ctx)
	if err != nil {
		return nil, err
	}
	s, err := b.interleave([]contender{
		{"plain UDP", func() (time.Duration, error) { return p.floor.roundTrips(smallSize, roundTrips) }},
		{"plain TCP", func() (time.Duration, error) { return b.raw.roundTrips(smallSize, roundTrips) }},
	})
	if err != nil {
		return nil, err
	}
	half := func(what string, limit float64, ours, other samples, name string) line {
		time := func(s samples) float64 { return median(s.elapsed) / roundTrips / 2 / 1e3 }
		return line{
			what: what, ratio: compare(ours.elapsed, other.elapsed), limit: limit, free: limit == 0,
			basis: fmt.Sprintf("%.2f µs, %s %.2f µs", time(ours), name, time(other)),
		}
	}
	return []line{
		half("8 B half round trip, plain UDP with ICRC to plain TCP", 0, s[0], s[1], "TCP"),
	}, nil
}

// measureIBStreaming is G-IB-2: 1 MiB PUTs one behind the other.
func measureIBStreaming(ctx context.Context, b *bench) ([]line, error) {
	p, err := b.pair(ctx)
	if err != nil {
		return nil, err
	}
	const count = bulkCount / 2
	s, err := b.interleave([]contender{
		{"plain UDP", func() (time.Duration, error) { return p.floor.put(count) }},
		{"plain TCP", func() (time.Duration, error) { return b.raw.put(bulk, count) }},
	})
	if err != nil {
		return nil, err
	}
	speed := func(what string, limit float64, ours, other samples, name string) line {
		rate := func(s samples) float64 { return count / 1024. / (median(s.elapsed) / 1e9) }
		return line{
			what: what, ratio: compare(inverse(ours.elapsed), inverse(other.elapsed)), limit: limit, least: true, free: limit == 0,
			basis: fmt.Sprintf("%.2f GiB/s, %s %.2f GiB/s", rate(ours), name, rate(other)),
		}
	}
	return []line{
		speed("1 MiB streaming, plain UDP with ICRC to plain TCP", 0, s[0], s[1], "TCP"),
	}, nil
}
