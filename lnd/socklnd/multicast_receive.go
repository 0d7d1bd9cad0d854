package socklnd

import (
	"errors"
	"net"
	"net/netip"
	"slices"

	"ulnet/lnd"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// maxReadErrors is how many failed reads in a row end the receiving of datagrams.
const maxReadErrors = 16

// packet is a datagram as the system gives it.
type packet struct {
	bytes   []byte // bytes of the datagram, valid until the next read
	from    netip.AddrPort
	to      netip.Addr // destination address of the datagram
	index   int        // index of the interface on which it arrived
	cut     bool       // the datagram is longer than bytes
	dropped uint32     // number of datagrams that found the socket's buffer full so far
}

// receive receives datagrams until the socket is closed.
func (c *casting) receive(rx *datagramReader) {
	var d lnd.Delivery
	var p packet
	var g wire.Datagram
	for failed := 0; failed < maxReadErrors; {
		n, err := rx.read()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			failed++
			c.ni.counts.count(ReadFailed)
			continue
		}
		failed = 0
		d.ReceivedAt = c.ni.clock.Now()
		before := c.rxMsgs.Load()
		for i := range n {
			rx.packet(i, &p)
			c.take(&p, &g, &d)
		}
		// The next read busy-polls only if this one has brought datagrams for lnet: after dropped ones it is
		// not likely that another one comes soon.
		rx.look = c.rxMsgs.Load() > before
	}
	c.ni.log.Warn("no longer receives multicast: reading failed again and again")
}

// take gives a datagram to lnet, or drops it and counts the reason.
func (c *casting) take(p *packet, g *wire.Datagram, d *lnd.Delivery) {
	if p.dropped > 0 {
		c.missed.Store(uint64(p.dropped))
	}
	if why := c.inspect(p, g); why != ReasonNone {
		c.ni.counts.count(why)
		return
	}
	if c.tap != nil {
		c.tap.Datagram(p.from, netip.AddrPortFrom(p.to, c.ni.cfg.MulticastPort), false, [][]byte{p.bytes})
	}
	d.Header, d.Group = g.Header, c.groupAt(p.to)
	d.From = nid.ProcessID{NID: nid.FromAddr(c.ni.nid.Net(), p.from.Addr()), PID: g.Header.SrcPID}
	c.rxMsgs.Add(1)
	c.rxBytes.Add(uint64(len(g.Payload)))
	if answer, err := c.ni.up.Parse(d); err != nil || answer != lnd.Accept {
		return // lnet shuts down
	}
	d.Sink.CopyIn(g.Payload)
	c.ni.up.Delivered(d, nil)
}

// inspect parses a datagram and says why it is to be dropped. Every host can send one, so
// its header has to agree with the addresses of the packet.
func (c *casting) inspect(p *packet, g *wire.Datagram) Reason {
	if p.cut {
		return DatagramCut
	}
	if why := parseDatagram(p.bytes, g); why != ReasonNone {
		return why
	}
	h := &g.Header
	switch {
	case g.Large != c.large:
		return DatagramHeader
	case h.Type != wire.Put || !h.Put().AckMD.IsNone():
		return DatagramType
	case h.SrcNID == c.ni.nid:
		return DatagramOwn
	case h.DestNID.Net() != c.ni.nid.Net():
		return DatagramNet
	case h.SrcNID.Net() != c.ni.nid.Net() || h.SrcNID.Addr() != p.from.Addr():
		return DatagramSource
	case h.DestNID.Addr() != p.to || !slices.Contains(*c.joined.Load(), c.groupAt(p.to)):
		return DatagramGroup
	case p.index != int(c.index.Load()):
		return DatagramInterface
	}
	return ReasonNone
}

// parseDatagram parses b into g. It returns why b is invalid, or ReasonNone.
func parseDatagram(b []byte, g *wire.Datagram) Reason {
	switch err := ksock.Datagrams.Parse(b, g); {
	case err == nil:
		return ReasonNone
	case errors.Is(err, ksock.Datagrams.ErrMagic):
		return DatagramForeign
	case errors.Is(err, wire.ErrDatagramVersion):
		return DatagramVersion
	case errors.Is(err, wire.ErrDatagramLength):
		return DatagramLength
	case errors.Is(err, ksock.ErrShort):
		return DatagramCut
	default: // the header size or a NID is invalid
		return DatagramHeader
	}
}
