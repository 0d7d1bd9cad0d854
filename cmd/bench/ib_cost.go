package main

import (
	"fmt"
	"hash/crc32"
	"net/netip"
	"time"

	"ulnet/lnd/verbs/ibta"
)

// measureIBAllocations measures goal G-IB-3: the allocations per message over o2iblnd, and the speed
// of computing an ICRC.
func measureIBAllocations(b *measurement) {
	b.countAllocations(b.pair(b.ctx).node)
	b.add(measureICRC(b.rounds)...)
}

// measureICRC compares how fast the ICRC of packets with 1 KiB is computed with the CRC of
// hash/crc32 over the same bytes. Both wait for nothing, so slower runs were disturbed, and only
// the fastest of many short runs counts.
func measureICRC(rounds int) []line {
	const (
		payload = 1 << 10
		loops   = 1000
	)
	path := ibta.NewPath(netip.AddrPortFrom(ownAddr, 49152), netip.AddrPortFrom(peerAddr, ibta.Port))
	packet := make([]byte, ibta.BTHSize+payload, ibta.BTHSize+payload+ibta.ICRCSize)
	const id = 9
	whole := path.AppendICRC(id, packet)
	speeds := fastest(20*rounds, loops, payload,
		func() { path.ICRC(id, packet) },
		func() { path.CheckNear(id, whole) },
		func() { path.CheckAny(whole) },
		func() { crc32.ChecksumIEEE(packet[ibta.BTHSize:]) },
	)
	crc := fmt.Sprintf("hash/crc32 %.1f GB/s", speeds[3])
	return []line{
		{what: "ICRC of a packet with 1 KiB, sent", ratio: speeds[0], unit: "GB/s", limit: 12, least: true, basis: crc},
		{what: "ICRC of a packet with 1 KiB, received", ratio: speeds[1], unit: "GB/s", limit: 12, least: true, basis: crc},
		{what: "ICRC of a packet with 1 KiB, received with an unknown identification", ratio: speeds[2], unit: "GB/s", limit: 12, least: true, basis: crc},
	}
}

// fastest returns for each function in fs the throughput of its fastest round, in GB/s. Each
// call of a function handles the given number of bytes.
func fastest(rounds, loops, bytes int, fs ...func()) []float64 {
	best := make([]time.Duration, len(fs))
	for round := range rounds {
		for i, f := range fs {
			began := time.Now()
			for range loops {
				f()
			}
			if d := time.Since(began); round == 0 || d < best[i] {
				best[i] = d
			}
		}
	}
	speeds := make([]float64, len(fs))
	for i, d := range best {
		speeds[i] = float64(loops*bytes) / float64(d)
	}
	return speeds
}
