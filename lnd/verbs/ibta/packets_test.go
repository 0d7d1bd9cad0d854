package ibta_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ulnet/lnd/capture"
	"ulnet/lnd/verbs/ibta"
)

// unhex parses hex in which blanks separate fields.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// ipPacket has the parts of an IP packet.
type ipPacket struct {
	name    string
	ip, udp []byte
	roce    []byte // the RoCE packet with its ICRC
}

// split takes an IP packet with a RoCE packet apart.
func split(t testing.TB, name string, b []byte) ipPacket {
	t.Helper()
	n := ibta.IPv4Size
	if b[0]>>4 == 6 {
		n = ibta.IPv6Size
	}
	udp := b[n : n+ibta.UDPSize]
	end := n + int(binary.BigEndian.Uint16(udp[4:]))
	if port := binary.BigEndian.Uint16(udp[2:]); port != ibta.Port || end > len(b) {
		t.Fatalf("%s: port %d, %d of %d bytes", name, port, len(b), end)
	}
	return ipPacket{name, b[:n], udp, b[n+ibta.UDPSize : end]}
}

func (p *ipPacket) v6() bool { return p.ip[0]>>4 == 6 }

func (p *ipPacket) id() uint16 {
	if p.v6() {
		return 0
	}
	return binary.BigEndian.Uint16(p.ip[4:])
}

func (p *ipPacket) path() ibta.Path {
	src, dst := p.ends()
	return ibta.NewPath(src, dst)
}

func (p *ipPacket) ends() (src, dst netip.AddrPort) {
	at, size := 12, 4
	if p.v6() {
		at, size = 8, 16
	}
	s, _ := netip.AddrFromSlice(p.ip[at : at+size])
	d, _ := netip.AddrFromSlice(p.ip[at+size : at+2*size])
	return netip.AddrPortFrom(s, binary.BigEndian.Uint16(p.udp)), netip.AddrPortFrom(d, binary.BigEndian.Uint16(p.udp[2:]))
}

func (p *ipPacket) icrc() uint32 { return binary.LittleEndian.Uint32(p.roce[len(p.roce)-4:]) }

// kernel reports whether a kernel node sent the packet; other packets in the
// captures are no reference.
func (p *ipPacket) kernel() bool {
	src, _ := p.ends()
	return src.Addr() == netip.MustParseAddr("10.88.0.2") || src.Addr() == netip.MustParseAddr("10.88.0.3")
}

// captured returns all packets of the o2ib captures: those in the repository, and those
// beside it, if this machine has them.
func captured(t testing.TB) []ipPacket {
	t.Helper()
	var files []string
	for _, dir := range []string{"../../capture/testdata", "../../../../shared/captures"} {
		list, err := filepath.Glob(filepath.Join(dir, "o2ib-*.pcap"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, list...)
	}
	if len(files) < 3 {
		t.Fatalf("%d captures", len(files))
	}
	var all []ipPacket
	for _, file := range files {
		all = append(all, readCapture(t, file)...)
	}
	return all
}

func readCapture(t testing.TB, file string) (list []ipPacket) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := capture.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for frame := 1; ; frame++ {
		p, err := r.Next()
		if err == io.EOF {
			return list
		}
		if err != nil || p.Link != capture.LinkEthernet {
			t.Fatal(p.Link, err)
		}
		const ethernet = 14
		list = append(list, split(t, fmt.Sprintf("%s/%d", filepath.Base(file), frame), bytes.Clone(p.Data[ethernet:])))
	}
}

// repositoryPackets is how many of the captured packets are in the repository;
// they come first.
const repositoryPackets = 9 + 7 + 31
