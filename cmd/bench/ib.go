package main

import (
	"context"
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
	round := func(name string, run func() (time.Duration, error)) *contender { return b.timed(name, trips, run) }
	sock := round("socklnd", func() (time.Duration, error) { return b.node.pingHandlers(ctx, 0, trips) })
	o2ib := round("o2iblnd", func() (time.Duration, error) { return p.node.pingHandlers(ctx, 0, trips) })
	sockEQ := round("socklnd", func() (time.Duration, error) { return b.node.pingEQs(ctx, trips) })
	o2ibEQ := round("o2iblnd", func() (time.Duration, error) { return p.node.pingEQs(ctx, trips) })
	device := round("device", func() (time.Duration, error) { return p.verbs.roundTrips(ctx, trips) })
	udp := round("UDP", func() (time.Duration, error) { return p.floor.roundTrips(smallSize, trips) })
	plain := round("TCP", func() (time.Duration, error) { return b.raw.roundTrips(smallSize, trips) })
	if err := alternate(ctx, b, b.rounds, sock, o2ib, sockEQ, o2ibEQ, device, udp, plain); err != nil {
		return nil, err
	}
	return []line{
		o2ib.half(sock, "8 B PUT half round trip, handler to handler, to socklnd", 1.30),
		o2ibEQ.half(sockEQ, "8 B PUT half round trip, through EQ.Wait, to socklnd", 1.30),
		device.half(udp, "8 B SEND half round trip, the device alone, to plain UDP", 0),
		o2ib.half(device, "8 B PUT half round trip, handler to handler, to the device alone", 0),
		udp.half(plain, "8 B half round trip, plain UDP with ICRC to plain TCP", 0),
	}, nil
}

// measureIBStreaming is G-IB-2: 1 MiB PUTs one behind the other.
func measureIBStreaming(ctx context.Context, b *bench) ([]line, error) {
	p, err := b.pair(ctx)
	if err != nil {
		return nil, err
	}
	count := b.some(bulkCount / 2)
	last := len(sizes) - 1
	trips := b.some(sizes[last].trips / 2)
	stream := func(name string, run func() (time.Duration, error)) *contender { return b.timed(name, count, run) }
	sock := stream("socklnd", func() (time.Duration, error) { return b.node.putStream(ctx, count, window) })
	o2ib := stream("o2iblnd", func() (time.Duration, error) { return p.node.putStream(ctx, count, window) })
	udp := stream("UDP", func() (time.Duration, error) { return p.floor.put(count) })
	device := stream("device", func() (time.Duration, error) { return p.verbs.put(ctx, count) })
	plain := stream("TCP", func() (time.Duration, error) { return b.raw.put(bulk, count) })
	sockGet := stream("socklnd", func() (time.Duration, error) { return b.node.getStream(ctx, count, window) })
	o2ibGet := stream("o2iblnd", func() (time.Duration, error) { return p.node.getStream(ctx, count, window) })
	sockPing := b.timed("socklnd", trips, func() (time.Duration, error) { return b.node.pingHandlers(ctx, last, trips) })
	o2ibPing := b.timed("o2iblnd", trips, func() (time.Duration, error) { return p.node.pingHandlers(ctx, last, trips) })
	if err := alternate(ctx, b, b.rounds, sock, o2ib, udp, device, plain, sockGet, o2ibGet, sockPing, o2ibPing); err != nil {
		return nil, err
	}
	speed := func(what string, limit float64, ours, other *contender) line {
		return ours.speed(other, what, limit, mebibytes, "%.2f GiB/s")
	}
	return []line{
		speed("1 MiB PUT streaming, to socklnd", 0.40, o2ib, sock),
		speed("1 MiB PUT streaming, to plain UDP with GSO, GRO and ICRC", 0.85, o2ib, udp),
		speed("1 MiB RDMA WRITE streaming, the device alone, to plain UDP", 0, device, udp),
		speed("1 MiB streaming, plain UDP with ICRC to plain TCP", 0, udp, plain),
		speed("1 MiB GET streaming, 8 open, to socklnd", 0, o2ibGet, sockGet),
		o2ibPing.half(sockPing, "1 MiB PUT half round trip, handler to handler, to socklnd", 0),
		o2ib.costs(sock, "1 MiB PUT, CPU time of both sides, to socklnd", 0),
	}, nil
}
