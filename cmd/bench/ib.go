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
	trips := b.some(roundTrips)
	s, err := b.interleave([]contender{
		{"socklnd, handlers", func() (time.Duration, error) { return b.node.pingHandlers(ctx, 0, trips) }},
		{"o2iblnd, handlers", func() (time.Duration, error) { return p.node.pingHandlers(ctx, 0, trips) }},
		{"socklnd, EQ", func() (time.Duration, error) { return b.node.pingEQs(ctx, trips) }},
		{"o2iblnd, EQ", func() (time.Duration, error) { return p.node.pingEQs(ctx, trips) }},
		{"softroce", func() (time.Duration, error) { return p.verbs.roundTrips(ctx, trips) }},
		{"plain UDP", func() (time.Duration, error) { return p.floor.roundTrips(smallSize, trips) }},
		{"plain TCP", func() (time.Duration, error) { return b.raw.roundTrips(smallSize, trips) }},
	})
	if err != nil {
		return nil, err
	}
	half := func(what string, limit float64, ours, other samples, name string) line {
		time := func(s samples) float64 { return median(s.elapsed) / float64(trips) / 2 / 1e3 }
		return line{
			what: what, ratio: compare(ours.elapsed, other.elapsed), limit: limit, free: limit == 0,
			basis: fmt.Sprintf("%.2f µs, %s %.2f µs", time(ours), name, time(other)),
		}
	}
	return []line{
		half("8 B PUT half round trip, handler to handler, to socklnd", 1.30, s[1], s[0], "socklnd"),
		half("8 B PUT half round trip, through EQ.Wait, to socklnd", 1.30, s[3], s[2], "socklnd"),
		half("8 B SEND half round trip, the device alone, to plain UDP", 0, s[4], s[5], "UDP"),
		half("8 B PUT half round trip, handler to handler, to the device alone", 0, s[1], s[4], "device"),
		half("8 B half round trip, plain UDP with ICRC to plain TCP", 0, s[5], s[6], "TCP"),
	}, nil
}

// measureIBStreaming is G-IB-2: 1 MiB PUTs one behind the other.
func measureIBStreaming(ctx context.Context, b *bench) ([]line, error) {
	p, err := b.pair(ctx)
	if err != nil {
		return nil, err
	}
	count := b.some(bulkCount / 2)
	gib := float64(count) / 1024
	last := len(sizes) - 1
	trips := b.some(sizes[last].trips / 2)
	s, err := b.interleave([]contender{
		{"socklnd, PUT", func() (time.Duration, error) { return b.node.putStream(ctx, count, window) }},
		{"o2iblnd, PUT", func() (time.Duration, error) { return p.node.putStream(ctx, count, window) }},
		{"plain UDP", func() (time.Duration, error) { return p.floor.put(count) }},
		{"softroce", func() (time.Duration, error) { return p.verbs.put(ctx, count) }},
		{"plain TCP", func() (time.Duration, error) { return b.raw.put(bulk, count) }},
		{"socklnd, GET", func() (time.Duration, error) { return b.node.getStream(ctx, count, window) }},
		{"o2iblnd, GET", func() (time.Duration, error) { return p.node.getStream(ctx, count, window) }},
		{"socklnd, ping", func() (time.Duration, error) { return b.node.pingHandlers(ctx, last, trips) }},
		{"o2iblnd, ping", func() (time.Duration, error) { return p.node.pingHandlers(ctx, last, trips) }},
	})
	if err != nil {
		return nil, err
	}
	speed := func(what string, limit float64, ours, other samples, name string) line {
		rate := func(s samples) float64 { return gib / (median(s.elapsed) / 1e9) }
		return line{
			what: what, ratio: compare(inverse(ours.elapsed), inverse(other.elapsed)), limit: limit, least: true, free: limit == 0,
			basis: fmt.Sprintf("%.2f GiB/s, %s %.2f GiB/s", rate(ours), name, rate(other)),
		}
	}
	half := func(s samples) float64 { return median(s.elapsed) / float64(trips) / 2 / 1e3 }
	return []line{
		speed("1 MiB PUT streaming, to socklnd", 0.40, s[1], s[0], "socklnd"),
		speed("1 MiB PUT streaming, to plain UDP with GSO, GRO and ICRC", 0.85, s[1], s[2], "UDP"),
		speed("1 MiB RDMA WRITE streaming, the device alone, to plain UDP", 0, s[3], s[2], "UDP"),
		speed("1 MiB streaming, plain UDP with ICRC to plain TCP", 0, s[2], s[4], "TCP"),
		speed("1 MiB GET streaming, 8 open, to socklnd", 0, s[6], s[5], "socklnd"),
		{
			what: "1 MiB PUT half round trip, handler to handler, to socklnd", ratio: compare(s[8].elapsed, s[7].elapsed), free: true,
			basis: fmt.Sprintf("%.2f µs, socklnd %.2f µs", half(s[8]), half(s[7])),
		},
		{
			what: "1 MiB PUT, CPU time of both sides, to socklnd", ratio: compare(s[1].cpu, s[0].cpu), free: true,
			basis: fmt.Sprintf("%.0f ms/GiB, socklnd %.0f ms/GiB", median(s[1].cpu)/1e6/gib, median(s[0].cpu)/1e6/gib),
		},
	}, nil
}
