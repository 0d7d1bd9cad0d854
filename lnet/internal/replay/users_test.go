package replay

import (
	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// bind makes the MD of a user's operation, with size bytes. The operation ends after the given
// number of events.
func (p *player) bind(what string, size, events int) portals.MDHandle {
	p.users++
	md, err := p.table.MDBind(portals.MD{
		Segments: []lnd.Segment{make([]byte, size)}, Threshold: events, Options: portals.Truncate,
		Handler: func(e *portals.Event) {
			if e.Err != nil {
				p.differ("%s failed: %v", what, e.Err)
			}
			if events--; events == 0 {
				p.users--
			}
		},
	}, portals.Unlink)
	if err != nil {
		p.t.Fatal(err)
	}
	return md
}

// put repeats a PUT of a user of the recorded node.
func (p *player) put(s *step) {
	h := &s.head
	c := h.Put()
	ack, events := c.AckMD != wire.NoHandle(), 1
	if ack {
		events = 2
	}
	err := p.table.Put(portals.PutRequest{
		Self: h.SrcNID, MD: p.bind(p.what(h), int(h.PayloadLength), events), Ack: ack, Target: nid.ProcessID{NID: h.DestNID, PID: h.DestPID},
		Portal: int(c.Portal), MatchBits: c.MatchBits, Offset: c.Offset, HdrData: c.HdrData,
	})
	if err != nil {
		p.differ("%s: %v", p.what(h), err)
	}
}

// get repeats a GET of a user of the recorded node.
func (p *player) get(s *step) {
	h := &s.head
	c := h.Get()
	err := p.table.Get(portals.GetRequest{
		Self: h.SrcNID, MD: p.bind(p.what(h), int(c.SinkLength), 2), Target: nid.ProcessID{NID: h.DestNID, PID: h.DestPID},
		Portal: int(c.Portal), MatchBits: c.MatchBits, Offset: c.SrcOffset,
	})
	if err != nil {
		p.differ("%s: %v", p.what(h), err)
	}
}
