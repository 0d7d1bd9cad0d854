package softroce

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
)

// capturedPackets returns the packets of each capture of a kernel, as inputs of
// FuzzDevice: each with its length before it, without its ICRC.
func capturedPackets(tb testing.TB) (list [][]byte) {
	files, err := filepath.Glob("../../capture/testdata/o2ib-rxe-*.pcap")
	if err != nil || len(files) == 0 {
		tb.Fatal("no captures", err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			tb.Fatal(err)
		}
		r, err := pcapgo.NewReader(f)
		if err != nil {
			tb.Fatal(err)
		}
		var all []byte
		for {
			frame, _, err := r.ReadPacketData()
			if err != nil {
				break
			}
			udp, ok := gopacket.NewPacket(frame, r.LinkType(), gopacket.Default).Layer(layers.LayerTypeUDP).(*layers.UDP)
			if !ok || len(udp.Payload) < 20 {
				continue
			}
			b := udp.Payload[:len(udp.Payload)-4]
			one := append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...)
			all = append(all, one...)
			list = append(list, one)
		}
		_ = f.Close()
		list = append(list, all)
	}
	return list
}
