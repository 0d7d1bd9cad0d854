package main

import (
	"context"
	"fmt"
	"time"
)

// The payload of a streaming measurement, the messages of one round and how
// many of them may be under way at once (LNet's default peer_credits).
const (
	bulk      = 1 << 20
	bulkCount = 1024
	window    = 8
)

// measureStreaming is G-LN-3: throughput of 1 MiB PUTs and GETs, and the CPU
// time that both processes use for a GiB.
func measureStreaming(ctx context.Context, b *bench) ([]line, error) {
	count := b.some(bulkCount)
	s, err := b.interleave([]contender{
		{"raw put", func() (time.Duration, error) { return b.raw.put(bulk, count) }},
		{"PUT", func() (time.Duration, error) { return b.node.putStream(ctx, count, window) }},
		{"raw get", func() (time.Duration, error) { return b.raw.get(bulk, count, window) }},
		{"GET", func() (time.Duration, error) { return b.node.getStream(ctx, count, window) }},
	})
	if err != nil {
		return nil, err
	}
	gib := float64(bulk*count) / (1 << 30)
	speed := func(s samples) string { return fmt.Sprintf("%.2f GiB/s", gib/(median(s.elapsed)/1e9)) }
	cost := func(s samples) string { return fmt.Sprintf("%.0f ms/GiB", median(s.cpu)/1e6/gib) }
	throughput := func(what string, limit float64, ours, raw samples) line {
		return line{
			what: what, ratio: compare(inverse(ours.elapsed), inverse(raw.elapsed)), limit: limit, least: true,
			basis: speed(ours) + ", raw " + speed(raw),
		}
	}
	cpu := func(what string, ours, raw samples) line {
		return line{
			what: what, ratio: compare(ours.cpu, raw.cpu), limit: 1.10,
			basis: cost(ours) + ", raw " + cost(raw),
		}
	}
	return []line{
		throughput("1 MiB PUT streaming", 0.95, s[1], s[0]),
		throughput("1 MiB GET streaming, 8 open", 0.90, s[3], s[2]),
		cpu("1 MiB PUT, CPU time of both sides", s[1], s[0]),
		cpu("1 MiB GET, CPU time of both sides", s[3], s[2]),
	}, nil
}
