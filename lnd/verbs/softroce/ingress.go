package softroce

import (
	"net/netip"
	"sync/atomic"

	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce/wire"
)

const mostPaths = 4096 // most senders whose ICRC state an ingress keeps; when one more sends, it forgets them all

// ingress parses the packets that arrive at one port, checks what every packet must have, and
// passes them on. One call at a time.
type ingress struct {
	local   netip.AddrPort // address that senders send to: the device's, or a group's
	tap     func(verbs.TappedPacket)
	deliver func(from netip.AddrPort, list []ibta.Packet)
	badPKey *atomic.Uint64

	badICRC   atomic.Uint64
	malformed atomic.Uint64 // packets that cannot be parsed

	arrived int      // number of packets in the last call of receive
	bulk    bool     // some packets of that call belong to a transfer, or are only a part of a message
	several bool     // the packets of that call are for more than one queue pair
	qp      ibta.QPN // queue pair of the last packet of that call

	packets []ibta.Packet
	paths   map[netip.AddrPort]ibta.Path
}

func newIngress(local netip.AddrPort) *ingress {
	return &ingress{local: local, badPKey: new(atomic.Uint64), paths: make(map[netip.AddrPort]ibta.Path)}
}

// receive handles datagrams. It passes on together the consecutive datagrams of one sender.
func (g *ingress) receive(list []wire.Datagrams) {
	g.arrived, g.bulk, g.several = 0, false, false
	for len(list) > 0 {
		from := list[0].From
		g.packets = g.packets[:0]
		for len(list) > 0 && list[0].From == from {
			g.parse(&list[0])
			list = list[1:]
		}
		g.arrived += len(g.packets)
		if len(g.packets) > 0 {
			g.deliver(netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), g.packets)
		}
	}
}

// parse appends the packets in d.
func (g *ingress) parse(d *wire.Datagrams) {
	path := g.path(d.From)
	likely := uint16(0) // the Identification in the packet's IP header, if the sender lets its kernel split bursts (UDP GSO) as this code does
	for rest := d.Bytes; len(rest) > 0; {
		b := rest[:min(max(d.Size, 1), len(rest))]
		rest = rest[len(b):]
		p, err := ibta.ParsePacket(b)
		if err != nil {
			g.malformed.Add(1)
			continue
		}
		id, ok := path.CheckNear(likely, b)
		likely = id + 1
		if !ok {
			g.badICRC.Add(1)
			continue
		}
		if g.tap != nil {
			g.tap(verbs.TappedPacket{From: d.From, To: g.local, TrafficClass: d.Class, ID: id, Bytes: b})
		}
		if !p.PKey.Matches(ibta.DefaultPKey) {
			g.badPKey.Add(1)
			continue
		}
		g.bulk = g.bulk || isBulk(p.OpCode)
		g.several = g.several || g.arrived+len(g.packets) > 0 && p.DestQP != g.qp
		g.qp = p.DestQP
		g.packets = append(g.packets, p)
	}
}

// isBulk reports whether a packet belongs to a transfer, or is only a part of its message.
func isBulk(op ibta.OpCode) bool {
	return op.IsRequest() && (op.IsWrite() || !op.IsFirst() || !op.IsLast())
}

// path returns the state with which the ICRCs of a sender begin.
func (g *ingress) path(from netip.AddrPort) ibta.Path {
	p, known := g.paths[from]
	if !known {
		if len(g.paths) >= mostPaths {
			clear(g.paths)
		}
		p = ibta.NewPath(from, g.local)
		g.paths[from] = p
	}
	return p
}
