package capture

import (
	"net/netip"

	"ulnet/lnd/capture/internal/headers"
	"ulnet/lnd/verbs/ibta"
)

// joined is several datagrams that a capture on the sending host shows as one frame: the sender
// passed them to the kernel in one call (UDP_SEGMENT), which divides them after the point of
// capture. All have the same size, except that the last may be shorter. The frame has the headers
// of the first datagram, with the length of all.
type joined struct {
	path ibta.Path
	id   uint16 // IPv4 identification of the first of the joined packets
	size int    // payload bytes of each packet but the last
}

// largestPacket is the longest packet of RoCE in bytes, with its ICRC.
const largestPacket = ibta.BTHSize + ibta.RETHSize + 4096 + ibta.ICRCSize

// isJoined reports whether a frame whose ICRC is wrong consists of several packets: it looks for a
// length at which the frame's first bytes are a packet with a correct ICRC at its end.
func (f *roceFrame) isJoined(ip *headers.IP, udp *headers.UDP) (j joined, ok bool) {
	if f.err != ErrICRC || f.cut > 0 {
		return j, false
	}
	j.id = ip.ID
	j.path = ibta.NewPath(netip.AddrPortFrom(f.src, udp.SrcPort), netip.AddrPortFrom(f.dst, udp.DstPort))
	for _, j.size = range f.sizes() {
		if j.size < len(f.raw) && j.path.Check(j.id, f.raw[:j.size]) {
			return j, true
		}
	}
	return j, false
}

// sizes returns the possible lengths of the first packet of a joined frame. A packet in the middle
// of a message is as long as one of the MTUs allows; a packet at its end has any length.
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

// split divides a joined frame into its packets, and processes them one by one.
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
