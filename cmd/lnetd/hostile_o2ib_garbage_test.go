//go:build linux

package main_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"ulnet/lnd/verbs/ibta"
)

// dropCounters are the counters of dropped packets; each dropped packet increments one.
var dropCounters = []string{
	"bad_icrc", "malformed", "bad_pkey", "unknown_qp", "strays", "bad_qkey",
	"cm_malformed", "cm_ignored", "cm_unknown", "cm_forged", "cm_out_of_state", "cm_duplicates", "cm_refused",
}

// kernelPackets returns the packets of kernels from captures, without their ICRCs.
func kernelPackets(t *testing.T) (list [][]byte) {
	t.Helper()
	files, err := filepath.Glob("../../lnd/capture/testdata/o2ib-rxe-*.pcap")
	if err != nil || len(files) == 0 {
		t.Fatal("no captures", err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := pcapgo.NewReader(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		for frame, _, err := r.ReadPacketData(); err == nil; frame, _, err = r.ReadPacketData() {
			udp, ok := gopacket.NewPacket(frame, r.LinkType(), gopacket.Default).Layer(layers.LayerTypeUDP).(*layers.UDP)
			if ok && len(udp.Payload) >= ibta.BTHSize+ibta.ICRCSize {
				list = append(list, udp.Payload[:len(udp.Payload)-ibta.ICRCSize])
			}
		}
	}
	return list
}

// garbage sends random bytes, recorded packets of kernels for another host, and such packets
// with errors.
func (b *blockade) garbage(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s := b.from(t, strangerAddr)
	kernels := kernelPackets(t)
	kinds := []struct {
		name  string
		count int
		bytes func(i int) []byte
	}{
		{"random bytes", 2000, func(int) []byte {
			one := make([]byte, 1+random.IntN(2000))
			for i := range one {
				one[i] = byte(random.Uint32())
			}
			return one
		}},
		{"captured", len(kernels), func(i int) []byte { return s.path.AppendICRC(0, bytes.Clone(kernels[i])) }},
		{"captured, spoilt", 20 * len(kernels), func(i int) []byte {
			one := bytes.Clone(kernels[i%len(kernels)])
			one[random.IntN(len(one))] ^= 1 << random.IntN(8)
			return s.path.AppendICRC(0, one)
		}},
		{"captured, cut", 20 * len(kernels), func(i int) []byte {
			one := kernels[i%len(kernels)]
			return s.path.AppendICRC(0, bytes.Clone(one[:ibta.BTHSize+random.IntN(len(one)-ibta.BTHSize)]))
		}},
	}
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			reasons := b.daemon.Reasons()
			const together = 100 // number of packets for which the socket's buffer has room
			for i := 0; i < kind.count; {
				before, first := b.device(), i
				for ; i < min(first+together, kind.count); i++ {
					s.send(t, kind.bytes(i))
				}
				b.rises(t, before, uint64(i-first), dropCounters...)
			}
			b.goesOn(t)
			b.wantReasons(t, reasons, 0)
		})
	}
}
