package replay

import (
	"net/netip"
	"slices"

	"ulnet/lnd/verbs/ibta"
)

// Conn is a recorded connection. Arrays with one element for each side have the order of Ends.
type Conn struct {
	Ends [2]netip.Addr // addresses of the two sides; the sender of the REQ is first, if that is recorded
	QPN  [2]ibta.QPN
	PSN  [2]ibta.PSN // by side: PSN of the first request that it sends
	MSN  [2]uint32   // by side: number of messages that it had received completely before the recording
	MTU  int         // most payload bytes of a packet
	// Adopted tells that the recording begins inside the connection.
	Adopted bool
}

// side returns the index of the side that has addr.
func (c *Conn) side(addr netip.Addr) int {
	if c.Ends[1] == addr {
		return 1
	}
	return 0
}

// Conns returns the connections that were granted, and the one that was open when the recording
// began, if there is one.
func (s *Script) Conns() []Conn {
	var list []Conn
	asked := map[ibta.CommID]*Packet{}
	for i := range s.Packets {
		p := &s.Packets[i]
		if p.CM == nil {
			continue
		}
		switch p.CM.MAD.Attribute {
		case ibta.AttrREQ:
			asked[p.CM.REQ.LocalID] = p
		case ibta.AttrREP:
			if q := asked[p.CM.REP.RemoteID]; q != nil {
				list = append(list, granted(q, p))
			}
		}
	}
	return append(list, s.adopted(list)...)
}

// granted returns the connection of a REQ and its REP. Each of the two messages says with which
// PSN the other side begins.
func granted(req, rep *Packet) Conn {
	return Conn{
		Ends: [2]netip.Addr{req.From.Addr(), rep.From.Addr()},
		QPN:  [2]ibta.QPN{req.CM.REQ.QPN, rep.CM.REP.QPN},
		PSN:  [2]ibta.PSN{rep.CM.REP.StartingPSN, req.CM.REQ.StartingPSN},
		MTU:  req.CM.REQ.MTU.Bytes(),
	}
}

// adopted returns the connection whose beginning is not recorded, if there is one: it has the
// queue pairs that belong to no other connection.
func (s *Script) adopted(known []Conn) []Conn {
	ends := s.Hosts()
	c := Conn{Ends: ends, Adopted: true}
	var seen, counted [2]bool
	var done [2]uint32
	for i := range s.Packets {
		p := &s.Packets[i]
		from := c.side(p.From.Addr())
		if p.CM != nil || slices.ContainsFunc(known, func(k Conn) bool { return k.QPN[k.side(p.To.Addr())] == p.DestQP }) {
			continue
		}
		c.QPN[1-from] = p.DestQP
		if p.IsAck() {
			if !counted[from] {
				counted[from], c.MSN[from] = true, p.AETH.MSN-done[from]
			}
			continue
		}
		if !seen[from] {
			seen[from], c.PSN[from] = true, p.PSN
		}
		if p.OpCode.IsLast() && !counted[1-from] {
			done[1-from]++
		}
		c.MTU = max(c.MTU, len(p.Payload))
	}
	if !seen[0] || !seen[1] {
		return nil
	}
	return []Conn{c}
}
