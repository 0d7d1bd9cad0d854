package encap

import (
	"bytes"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"pgregory.net/rapid"

	"ulnet/lnd/capture"
	"ulnet/lnd/capture/internal/headers"
)

// plain reads the headers of a packet that begins with IP.
func plain(b []byte) (p headers.Packet, err error) {
	p.IP, err = headers.ParseIP(b)
	if err != nil {
		return p, err
	}
	switch p.IP.Protocol {
	case headers.ProtocolTCP:
		tcp, tcpErr := headers.ParseTCP(p.IP.Payload)
		p.TCP, err = &tcp, tcpErr
	case headers.ProtocolUDP:
		udp, udpErr := headers.ParseUDP(p.IP.Payload)
		p.UDP, err = &udp, udpErr
		p.IP.Cut = p.IP.Cut || udp.Cut
	default:
		err = headers.ErrHeader
	}
	return p, err
}

// TestPlainAsGopacket: package headers reads in damaged, cut and extended packets what gopacket reads
// in them, or refuses them.
func TestPlainAsGopacket(t *testing.T) {
	read, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		b := envelope(t).AppendTCP(nil, rapid.Uint32().Draw(t, "seq"), 7, rapid.Byte().Draw(t, "flags"), payload(t))
		if rapid.Bool().Draw(t, "UDP") {
			b = envelope(t).AppendUDP(nil, payload(t))
		}
		for range rapid.IntRange(0, 3).Draw(t, "damages") {
			b[rapid.IntRange(0, min(len(b), 70)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		b = b[:len(b)-rapid.IntRange(0, 3).Draw(t, "cut")]
		got, err := plain(b)
		if err != nil {
			refused++
			return
		}
		read++
		if diff := compare(readPacket(b), got); diff != "" {
			t.Fatalf("% x (-gopacket +own):\n%s", b, diff)
		}
	})
	if read == 0 || refused == 0 {
		t.Errorf("%d packets read, %d refused", read, refused)
	}
}

// compare returns the differences between a packet that gopacket reads and one that package headers reads.
func compare(want, got headers.Packet) string {
	return cmp.Diff(want, got, cmpopts.IgnoreFields(headers.IP{}, "Protocol", "Payload"), cmpopts.IgnoreFields(headers.UDP{}, "Cut"),
		cmpopts.EquateEmpty(), cmp.Comparer(func(a, b netip.Addr) bool { return a == b }))
}

// TestPortsOfOtherProtocols: gopacket knows other protocols by the ports of this test, and cannot read what is
// sent there as a message of theirs. The kernel's LNet connects from ports below 1024, and multicast may use any
// port, so the packets are read like those of other ports.
func TestPortsOfOtherProtocols(t *testing.T) {
	data := []byte("no message of DNS, TLS, Modbus, NTP or SIP")
	for _, port := range []uint16{53, 123, 443, 502, 636, 989, 990, 995, 1023, 2152, 4789, 5060, 6081} {
		e := headers.Envelope{From: netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), port), To: netip.MustParseAddrPort("10.0.0.2:988"), TTL: 64}
		for _, b := range [][]byte{e.AppendTCP(nil, 1, 2, headers.ACK, data), e.AppendUDP(nil, data)} {
			want, err := plain(b)
			if err != nil {
				t.Fatal(err)
			}
			if diff := compare(readPacket(b), want); diff != "" {
				t.Errorf("from port %d, protocol %d (-gopacket +own):\n%s", port, b[9], diff)
			}
		}
	}
}

// TestVXLAN: TCP packets in a VXLAN tunnel are read with their own addresses. For any other packet in the tunnel,
// the UDP datagram of the tunnel itself is returned.
func TestVXLAN(t *testing.T) {
	inner := headers.Envelope{From: netip.MustParseAddrPort("10.0.0.1:1023"), To: netip.MustParseAddrPort("10.0.0.2:988"), TTL: 64}
	outer := headers.Envelope{From: netip.MustParseAddrPort("192.0.2.1:50000"), To: netip.MustParseAddrPort("192.0.2.2:4789"), TTL: 64}
	tunnel := append([]byte{8, 0, 0, 0, 0, 0, 1, 0}, make([]byte, 12)...) // the header of VXLAN, and the addresses of Ethernet
	tunnel = append(tunnel, 8, 0)
	p := readPacket(outer.AppendUDP(nil, tunnel, inner.AppendTCP(nil, 1, 2, headers.ACK, []byte("data"))))
	if p.TCP == nil || p.TCP.DstPort != 988 || string(p.TCP.Payload) != "data" || p.IP.Src != inner.From.Addr() || p.IP.Dst != inner.To.Addr() {
		t.Errorf("TCP: %+v", p)
	}
	p = readPacket(outer.AppendUDP(nil, tunnel, inner.AppendUDP(nil, []byte("data"))))
	if p.UDP == nil || p.UDP.DstPort != 4789 || p.TCP != nil || p.Malformed || p.IP.Src != outer.From.Addr() {
		t.Errorf("UDP: %+v", p)
	}
}

// TestGRE: a packet in a GRE tunnel, such as one that a switch mirrors (ERSPAN), is read with its own IP header,
// which the ICRC of RoCE covers.
func TestGRE(t *testing.T) {
	inner := headers.Envelope{From: netip.MustParseAddrPort("10.0.0.1:50000"), To: netip.MustParseAddrPort("10.0.0.2:4791"), TTL: 64, ID: 7}
	const protocolGRE = 47
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: protocolGRE, SrcIP: []byte{192, 0, 2, 1}, DstIP: []byte{192, 0, 2, 2}}
	for name, tt := range map[string]struct {
		gre    []byte // headers between those of the tunnel's IP and of the packet's IP
		packet []byte
	}{
		"UDP":       {[]byte{0, 0, 8, 0}, inner.AppendUDP(nil, []byte("data"))},
		"TCP":       {[]byte{0, 0, 8, 0}, inner.AppendTCP(nil, 1, 2, headers.ACK, []byte("data"))},
		"in ERSPAN": {slices.Concat([]byte{0x10, 0, 0x88, 0xBE}, make([]byte, 4), []byte{0x10, 0, 0, 0, 0, 0, 0, 0}, make([]byte, 12), []byte{8, 0}), inner.AppendUDP(nil, []byte("data"))},
	} {
		want, err := plain(tt.packet)
		if err != nil {
			t.Fatal(err)
		}
		if diff := compare(readPacket(serialize(t, ip, gopacket.Payload(slices.Concat(tt.gre, tt.packet)))), want); diff != "" {
			t.Errorf("%s (-read +inner):\n%s", name, diff)
		}
	}
}

func readPacket(b []byte) headers.Packet { return headers.Unusual(uint16(capture.LinkRaw), b) }

func envelope(t *rapid.T) headers.Envelope {
	addr := rapid.Custom(func(t *rapid.T) netip.AddrPort {
		a := netip.AddrFrom4([4]byte{10, 0, rapid.Byte().Draw(t, "a"), 1})
		return netip.AddrPortFrom(a, rapid.Uint16().Draw(t, "port"))
	})
	e := headers.Envelope{From: addr.Draw(t, "from"), To: addr.Draw(t, "to"), TOS: rapid.Byte().Draw(t, "TOS"), TTL: rapid.Byte().Draw(t, "TTL"), ID: rapid.Uint16().Draw(t, "ID")}
	if rapid.Bool().Draw(t, "IPv6") {
		six := func(a netip.AddrPort) netip.AddrPort {
			b := a.Addr().As16()
			b[0] = 0xFD
			return netip.AddrPortFrom(netip.AddrFrom16(b), a.Port())
		}
		e.From, e.To, e.ID = six(e.From), six(e.To), 0
	}
	return e
}

func payload(t *rapid.T) []byte { return rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "payload") }

// TestAppendAsGopacket: packets are the same as gopacket makes them, checksums included. Only where
// gopacket writes a UDP checksum of 0, this package writes 0xFFFF.
func TestAppendAsGopacket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, seq, data := envelope(t), rapid.Uint32().Draw(t, "seq"), payload(t)
		tcp := &layers.TCP{
			SrcPort: layers.TCPPort(e.From.Port()), DstPort: layers.TCPPort(e.To.Port()), Seq: seq, Ack: ^seq, SYN: true, PSH: true, ACK: true, Window: 0xFFFF,
		}
		ip, network := ipLayer(e, layers.IPProtocolTCP)
		_ = tcp.SetNetworkLayerForChecksum(network)
		if want, got := serialize(t, ip, tcp, gopacket.Payload(data)), e.AppendTCP([]byte("x"), seq, ^seq, headers.SYN|headers.PSH|headers.ACK, data)[1:]; !bytes.Equal(want, got) {
			t.Fatalf("TCP: % x, want % x", got, want)
		}
		udp := &layers.UDP{SrcPort: layers.UDPPort(e.From.Port()), DstPort: layers.UDPPort(e.To.Port())}
		ip, network = ipLayer(e, layers.IPProtocolUDP)
		_ = udp.SetNetworkLayerForChecksum(network)
		want := serialize(t, ip, udp, gopacket.Payload(data))
		if udp.Checksum == 0 {
			sum := want[len(want)-len(data)-2:]
			sum[0], sum[1] = 0xFF, 0xFF
		}
		half := len(data) / 2
		if got := e.AppendUDP([]byte("x"), data[:half], data[half:])[1:]; !bytes.Equal(want, got) {
			t.Fatalf("UDP: % x, want % x", got, want)
		}
	})
}

func ipLayer(e headers.Envelope, above layers.IPProtocol) (gopacket.SerializableLayer, gopacket.NetworkLayer) {
	src, dst := e.From.Addr().AsSlice(), e.To.Addr().AsSlice()
	if e.From.Addr().Is4() {
		v4 := &layers.IPv4{Version: 4, TOS: e.TOS, Id: e.ID, TTL: e.TTL, Protocol: above, Flags: layers.IPv4DontFragment, SrcIP: src, DstIP: dst}
		return v4, v4
	}
	v6 := &layers.IPv6{Version: 6, TrafficClass: e.TOS, HopLimit: e.TTL, NextHeader: above, SrcIP: src, DstIP: dst}
	return v6, v6
}

func serialize(t interface{ Fatal(...any) }, l ...gopacket.SerializableLayer) []byte {
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, l...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestZeroChecksum: a checksum of UDP that would be 0, which means that there is none, is 0xFFFF.
func TestZeroChecksum(t *testing.T) {
	e := headers.Envelope{From: netip.MustParseAddrPort("10.0.0.1:1"), To: netip.MustParseAddrPort("10.0.0.2:2")}
	b := e.AppendUDP(nil, []byte{0, 0})
	sum := b[26:28]
	if b = e.AppendUDP(nil, sum); b[26] != 0xFF || b[27] != 0xFF {
		t.Errorf("checksum % x with payload % x", b[26:28], sum)
	}
}
