package o2iblnd

import (
	"errors"
	"slices"

	"ulnet/lnd"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// receive receives datagrams. The completion queue makes one call at a time, so one Delivery
// serves all datagrams.
func (c *casting) receive(batch []verbs.Completion, pool verbs.Pool) {
	now := c.clock.Now()
	for i := range batch {
		if batch[i].Status == verbs.Success {
			c.taken.ReceivedAt = now
			c.arrive(&batch[i])
		}
		pool.Return(batch[i].Buffer)
	}
}

// arrive gives a datagram to lnet, or drops it and counts the reason.
func (c *casting) arrive(in *verbs.Completion) {
	g, d := &c.datagram, &c.taken
	if why := c.inspect(in, g); why != ReasonNone {
		c.ni.counts.count(why)
		return
	}
	d.Header, d.Group = g.Header, c.groupAt(in.Group)
	d.From = nid.ProcessID{NID: nid.FromAddr(c.ni.nid.Net(), in.SrcAddr), PID: g.Header.SrcPID}
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
func (c *casting) inspect(in *verbs.Completion, g *wire.Datagram) Reason {
	if why := parseDatagram(in.Buffer.Bytes, g); why != ReasonNone {
		return why
	}
	h := &g.Header
	switch {
	case h.Type != wire.Put || !h.Put().AckMD.IsNone():
		return DatagramType
	case h.SrcNID == c.ni.nid:
		return DatagramOwn
	case h.DestNID.Net() != c.ni.nid.Net():
		return DatagramNet
	case h.SrcNID.Net() != c.ni.nid.Net() || h.SrcNID.Addr() != in.SrcAddr:
		return DatagramSource
	case h.DestNID.Addr() != in.Group || !slices.Contains(*c.joined.Load(), c.groupAt(in.Group)):
		return DatagramGroup
	}
	return ReasonNone
}

// parseDatagram parses b into g and returns ReasonNone if it is valid.
func parseDatagram(b []byte, g *wire.Datagram) Reason {
	switch err := kib.Datagrams.Parse(b, g); {
	case err == nil:
		return ReasonNone
	case errors.Is(err, kib.Datagrams.ErrMagic):
		return DatagramForeign
	case errors.Is(err, wire.ErrDatagramVersion):
		return DatagramVersion
	case errors.Is(err, wire.ErrDatagramLength):
		return DatagramLength
	case errors.Is(err, kib.ErrShort):
		return DatagramCut
	default: // the header size or a NID is invalid
		return DatagramHeader
	}
}
