package main

import (
	"time"
)

// Parameters of a measurement of streaming: the payload of a message, the number of messages in
// a round, and the number of messages in flight, which is the default of peer_credits.
const (
	bulk      = 1 << 20
	bulkCount = 1024
	window    = 8
)

// measureStreaming measures goal G-LN-3: throughput of 1 MiB PUTs and GETs, and CPU time of both
// processes per GiB.
func measureStreaming(b *measurement) {
	count := b.some(bulkCount)
	stream := func(name string, run func() (time.Duration, error)) *contender { return b.timed(name, count, run) }
	rawPut := stream("raw", func() (time.Duration, error) { return b.raw.put(bulk, count) })
	put := stream("PUT", func() (time.Duration, error) { return b.node.putStream(b.ctx, count, window) })
	rawGet := stream("raw", func() (time.Duration, error) { return b.raw.get(bulk, count, window) })
	get := stream("GET", func() (time.Duration, error) { return b.node.getStream(b.ctx, count, window) })
	b.alternate(b.rounds, rawPut, put, rawGet, get)
	b.add(
		put.speed(rawPut, "1 MiB PUT streaming", 0.95, mebibytes, "%.2f GiB/s"),
		get.speed(rawGet, "1 MiB GET streaming, 8 open", 0.90, mebibytes, "%.2f GiB/s"),
		put.costs(rawPut, "1 MiB PUT, CPU time of both sides", 1.10),
		get.costs(rawGet, "1 MiB GET, CPU time of both sides", 1.10),
	)
}
