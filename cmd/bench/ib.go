package main

import (
	"time"
)

// measureIBLatency measures goal G-IB-1: half a round trip of 8 B over o2iblnd, compared with
// socklnd, the device alone, and plain programs over UDP and TCP.
func measureIBLatency(b *measurement) {
	p := b.pair(b.ctx)
	trips := b.some(roundTrips)
	round := func(name string, run func() (time.Duration, error)) *contender { return b.timed(name, trips, run) }
	sock := round("socklnd", func() (time.Duration, error) { return b.node.pingPong(b.ctx, bitsHandler, trips) })
	o2ib := round("o2iblnd", func() (time.Duration, error) { return p.node.pingPong(b.ctx, bitsHandler, trips) })
	sockEQ := round("socklnd", func() (time.Duration, error) { return b.node.pingPong(b.ctx, bitsEQ, trips) })
	o2ibEQ := round("o2iblnd", func() (time.Duration, error) { return p.node.pingPong(b.ctx, bitsEQ, trips) })
	device := round("device", func() (time.Duration, error) { return p.verbs.roundTrips(b.ctx, trips) })
	udp := round("UDP", func() (time.Duration, error) { return p.floor.roundTrips(smallSize, trips) })
	plain := round("TCP", func() (time.Duration, error) { return b.raw.roundTrips(smallSize, trips) })
	b.alternate(b.rounds, sock, o2ib, sockEQ, o2ibEQ, device, udp, plain)
	b.add(
		o2ib.half(sock, "8 B PUT half round trip, handler to handler, to socklnd", 1.30),
		o2ibEQ.half(sockEQ, "8 B PUT half round trip, through EQ.Wait, to socklnd", 1.30),
		device.half(udp, "8 B SEND half round trip, the device alone, to plain UDP", 0),
		o2ib.half(device, "8 B PUT half round trip, handler to handler, to the device alone", 0),
		udp.half(plain, "8 B half round trip, plain UDP with ICRC to plain TCP", 0),
	)
}

// measureIBStreaming measures goal G-IB-2: a stream of 1 MiB PUTs.
func measureIBStreaming(b *measurement) {
	p := b.pair(b.ctx)
	count := b.some(bulkCount / 2)
	last := len(sizes) - 1
	trips := b.some(sizes[last].trips / 2)
	stream := func(name string, run func() (time.Duration, error)) *contender { return b.timed(name, count, run) }
	sock := stream("socklnd", func() (time.Duration, error) { return b.node.putStream(b.ctx, count, window) })
	o2ib := stream("o2iblnd", func() (time.Duration, error) { return p.node.putStream(b.ctx, count, window) })
	udp := stream("UDP", func() (time.Duration, error) { return p.floor.put(count) })
	device := stream("device", func() (time.Duration, error) { return p.verbs.put(b.ctx, count) })
	plain := stream("TCP", func() (time.Duration, error) { return b.raw.put(bulk, count) })
	sockGet := stream("socklnd", func() (time.Duration, error) { return b.node.getStream(b.ctx, count, window) })
	o2ibGet := stream("o2iblnd", func() (time.Duration, error) { return p.node.getStream(b.ctx, count, window) })
	sockPing := b.timed("socklnd", trips, func() (time.Duration, error) { return b.node.pingPong(b.ctx, bitsHandler+uint64(last), trips) })
	o2ibPing := b.timed("o2iblnd", trips, func() (time.Duration, error) { return p.node.pingPong(b.ctx, bitsHandler+uint64(last), trips) })
	small := b.some(rateCount / 4)
	flood := func(name string, f *flood) *contender {
		return b.timed(name, small, func() (time.Duration, error) { return f.run(b.ctx, small, false) })
	}
	sockFlood, o2ibFlood := flood("socklnd", p.flood[0]), flood("o2iblnd", p.flood[1])
	b.alternate(b.rounds, sock, o2ib, udp, device, plain, sockGet, o2ibGet, sockPing, o2ibPing, sockFlood, o2ibFlood)
	speed := func(what string, limit float64, ours, other *contender) line {
		return ours.speed(other, what, limit, mebibytes, "%.2f GiB/s")
	}
	b.add(
		speed("1 MiB PUT streaming, to socklnd", 0.40, o2ib, sock),
		speed("1 MiB PUT streaming, to plain UDP with GSO, GRO and ICRC", 0.85, o2ib, udp),
		speed("1 MiB RDMA WRITE streaming, the device alone, to plain UDP", 0, device, udp),
		speed("1 MiB streaming, plain UDP with ICRC to plain TCP", 0, udp, plain),
		speed("1 MiB GET streaming, 8 open, to socklnd", 0, o2ibGet, sockGet),
		o2ibPing.half(sockPing, "1 MiB PUT half round trip, handler to handler, to socklnd", 0),
		o2ib.costs(sock, "1 MiB PUT, CPU time of both sides, to socklnd", 0),
		o2ibFlood.speed(sockFlood, "8 B PUTs a second, one way, 8 credits, to socklnd", 0, 1e3, "%.2f M/s"),
		beside("socklnd", "8 B PUT, one way, 8 credits, CPU time of both sides, to socklnd", 0, o2ibFlood.cpu, sockFlood.cpu, 1e-3, "%.2f µs"),
	)
}
