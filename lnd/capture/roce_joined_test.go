package capture_test

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"ulnet/lnd/capture"
	"ulnet/lnd/verbs/ibta"
)

// joinPackets makes one frame of several packets over IPv4 or IPv6, as a capture at the
// sender has them if they left with one call.
func joinPackets(t testing.TB, list []capture.Packet) capture.Packet {
	t.Helper()
	header := 28
	if list[0].Data[0]>>4 == 6 {
		header = 48
	}
	first := bytes.Clone(list[0].Data[:header])
	src, dst := netip.AddrFrom4([4]byte(first[12:])), netip.AddrFrom4([4]byte(first[16:]))
	if header == 48 {
		src, dst = netip.AddrFrom16([16]byte(first[8:])), netip.AddrFrom16([16]byte(first[24:]))
	}
	path := ibta.NewPath(netip.AddrPortFrom(src, 0xC000), netip.AddrPortFrom(dst, ibta.Port))
	var raw []byte
	for i, p := range list {
		body := p.Data[header : len(p.Data)-ibta.ICRCSize]
		raw = append(raw, path.AppendICRC(uint16(i), body)...)
		if len(p.Data) > len(list[0].Data) || i < len(list)-1 && len(p.Data) < len(list[0].Data) {
			t.Fatalf("packet %d of %d does not fit into the burst", i, len(list))
		}
	}
	udp := uint16(ibta.UDPSize + len(raw))
	binary.BigEndian.PutUint16(first[header-4:], udp)
	if header == 48 {
		binary.BigEndian.PutUint16(first[4:], udp)
	} else {
		binary.BigEndian.PutUint16(first[2:], udp+20)
	}
	p := list[0]
	p.Data = append(first, raw...)
	p.Length = len(p.Data)
	return p
}

// join replaces the packets w.list[from:to] by one joined frame.
func (w *roceWire) join(from, to int) {
	w.t.Helper()
	w.list = slices.Replace(w.list, from, to, joinPackets(w.t, w.list[from:to]))
}

// TestRoCEJoined: packets that the kernel divides after the point of capture are understood
// like those that reach the peer.
func TestRoCEJoined(t *testing.T) {
	for _, addrs := range [][2]string{{"10.0.0.1", "10.0.0.2"}, {"fd00::1", "fd00::2"}} {
		w := newRoceWire(t)
		for i, a := range addrs {
			w.ends[i].addr = netip.MustParseAddr(a)
		}
		long := strings.Repeat("long ", 200) // longer than what records keep of a payload
		w.message(0, immediate(long), 256)   // three packets: FIRST, MIDDLE and LAST
		w.join(0, len(w.list))
		at := len(w.list)
		w.message(0, immediate("and an answer"), 1024) // one packet, an ONLY, and then the ACK for it
		w.answer(0, w.ends[1].psn, 0)
		w.join(at, at+2)
		at = len(w.list)
		w.write(0, bytes.Repeat([]byte{1}, 3000), 1024, 7, 1<<40) // the FIRST packet is longer than the others, because of its RETH
		w.join(at+1, len(w.list))
		w.message(0, immediate("end"), 256)
		counts := wantRoCE(t, w.list, `
			1/0 opened
			1/0 mid-stream
			1/0 PUT "long lon"
			1/0 PUT "and an a"
			1/0 PUT "end"
			1/0 closed: capture ends inside the connection`)
		if counts.BadICRC+counts.Malformed > 0 {
			t.Errorf("%v: %+v", addrs, counts)
		}
	}
}

// TestRoCEJoinedDamage: if one of several joined packets is damaged, only that packet is
// dropped, and a frame whose first packet is damaged is one packet.
func TestRoCEJoinedDamage(t *testing.T) {
	w := newRoceWire(t)
	w.message(0, immediate("one"), 256)
	w.message(0, immediate("two"), 256)
	w.message(0, immediate("3"), 256)
	w.join(0, 3)
	first := w.list[0]
	size := ibta.BTHSize + 48 + 72 + 3 + 1 + ibta.ICRCSize
	for _, tt := range []struct {
		at   int
		want string
	}{
		{28 + size + 20, `1/0 opened, 1/0 mid-stream, 1/0 PUT "one", 1/0 packet: ICRC is wrong`},
		{28 + 20, `1/0 opened, 1/0 mid-stream, 1/0 packet: ICRC is wrong`},
	} {
		bad := first
		bad.Data = bytes.Clone(first.Data)
		bad.Data[tt.at] ^= 1
		lines, counts := tellRoCE([]capture.Packet{bad})
		if got := strings.Join(lines, ", "); !strings.HasPrefix(got, tt.want) || counts.BadICRC != 1 {
			t.Errorf("byte %d: %s, %d bad", tt.at, got, counts.BadICRC)
		}
	}
}
