package capture

import (
	"net/netip"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"ulnet/lnd/verbs/ibta"
)

// joined is a frame as the host that sends it captures it: datagrams of one size, the
// last perhaps shorter, that left with one call (UDP_SEGMENT) and are cut only behind
// the capture. The frame has the headers of the first one, with the length of all.
type joined struct {
	path ibta.Path
	id   uint16 // identification of the first
	size int    // of each
}

// largestPacket is the longest packet of RoCE in bytes, with its ICRC.
const largestPacket = ibta.BTHSize + ibta.RETHSize + 4096 + ibta.ICRCSize

// isJoined reports whether a frame whose ICRC is wrong is several packets: then the
// ICRC of the first one is good at its end.
func (f *roceFrame) isJoined(network gopacket.NetworkLayer, udp *layers.UDP) (j joined, ok bool) {
	if f.err != ErrICRC || f.cut > 0 {
		return j, false
	}
	if ip, is := network.(*layers.IPv4); is {
		j.id = ip.Id
	}
	j.path = ibta.NewPath(netip.AddrPortFrom(f.src, uint16(udp.SrcPort)), netip.AddrPortFrom(f.dst, uint16(udp.DstPort)))
	for _, j.size = range f.sizes() {
		if j.size < len(f.raw) && j.path.Check(j.id, f.raw[:j.size]) {
			return j, true
		}
	}
	return j, false
}

// sizes returns how long the first packet of a joined frame may be: in the middle of
// a message as long as the MTU says, at its end anything.
func (f *roceFrame) sizes() (list []int) {
	around := f.OpCode.HeaderSize() + ibta.ICRCSize
	if f.OpCode.IsRequest() && !f.OpCode.IsLast() {
		for mtu := ibta.MTU256; mtu.IsValid(); mtu++ {
			list = append(list, around+mtu.Bytes())
		}
		return list
	}
	for n := around; n <= min(largestPacket, len(f.raw)); n += 4 {
		list = append(list, n)
	}
	return list
}

// split takes the packets of a joined frame one by one.
func (r *roce) split(whole *roceFrame, j joined) {
	for rest := whole.raw; len(rest) > 0; j.id++ {
		f := roceFrame{at: whole.at, src: whole.src, dst: whole.dst, raw: rest[:min(j.size, len(rest))]}
		rest = rest[len(f.raw):]
		if f.Packet, f.err = ibta.ParsePacket(f.raw); f.err == nil && !j.path.Check(j.id, f.raw) {
			f.err = ErrICRC
		}
		r.take(&f)
	}
}
