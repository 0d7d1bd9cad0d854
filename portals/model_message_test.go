package portals_test

import (
	"slices"
	"time"

	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// modelArrival is a message that has arrived: it is held, or was taken by an MD and its
// payload has not arrived.
type modelArrival struct {
	name    int
	header  wire.Header
	primary nid.NID
	md      *modelMD // MD that takes the message; nil: held, or dropped
	event   portals.Event
	ack     bool
}

// modelSend is a message that the model sends.
type modelSend struct {
	header wire.Header
	md     *modelMD // MD of the message; nil for an ACK
	event  portals.Event
	shared *modelShared // SEND event that the message shares with others; nil: it has its own
	offset int          // offset of the payload in the MD, in bytes
	queued time.Duration
	waited bool
}

// modelPeer has the messages that wait for one of its credits.
type modelPeer struct {
	inFlight int
	queue    []*modelSend
}

func (m *model) drop(a *modelArrival, why string) {
	a.md = nil
	m.drops[why]++
}

// admits reports whether an ME matches a message, without regard to its MD.
func (e *modelME) admits(a *modelArrival) bool {
	bits := a.header.Put().MatchBits
	if a.header.Type == wire.Get {
		bits = a.header.Get().MatchBits
	}
	id := e.match.ID
	return (e.match.Bits^bits)&^e.match.Ignore == 0 &&
		(anyPID(id.PID) || id.PID == a.header.SrcPID) &&
		(anyone(id.NID) || id.NID == a.primary || oneNode(id.NID, a.primary))
}

// oneNode reports whether both are NIDs of the one node that has two.
func oneNode(a, b nid.NID) bool {
	return (a == there.NID || a == beside.NID) && (b == there.NID || b == beside.NID)
}

// candidates returns the MEs of a portal in the order in which they are tried. If each ME is
// for one initiator, those for the primary NID of the sender come first.
func (p *modelPortal) candidates(primary nid.NID) (list []*modelME) {
	rank := func(e *modelME) int {
		switch {
		case e.match.Ignore != 0:
			return 0
		case p.unique && e.match.ID.NID != primary:
			return 2
		}
		return 1
	}
	for r := range 3 {
		for _, e := range p.list {
			if rank(e) == r {
				list = append(list, e)
			}
		}
	}
	return list
}

// arrive decides about a message that arrives: it is held, taken by an MD, or dropped.
func (m *model) arrive(a *modelArrival) (held bool) {
	h := &a.header
	a.event = portals.Event{
		Target:    nid.ProcessID{NID: h.DestNID, PID: h.DestPID},
		Initiator: nid.ProcessID{NID: a.primary, PID: h.SrcPID},
		Source:    nid.ProcessID{NID: h.SrcNID, PID: h.SrcPID},
		Sender:    h.SrcNID, MsgType: h.Type, RLength: h.PayloadLength,
	}
	switch h.Type {
	case wire.Put:
		put := h.Put()
		a.event.Kind, a.event.HdrData = portals.EventPut, put.HdrData
		a.event.Portal, a.event.MatchBits = int(put.Portal), put.MatchBits
		return m.request(a, portals.OpPut)
	case wire.Get:
		get := h.Get()
		a.event.Kind = portals.EventGet
		a.event.Portal, a.event.MatchBits = int(get.Portal), get.MatchBits
		return m.request(a, portals.OpGet)
	case wire.Ack:
		a.event.Kind, a.event.MatchBits = portals.EventAck, h.Ack().MatchBits
		m.answer(a, h.Ack().DstMD, int(h.Ack().MLength), false)
	case wire.Reply:
		a.event.Kind = portals.EventReply
		m.answer(a, h.Reply().DstMD, int(h.PayloadLength), true)
	}
	return false
}

func (m *model) request(a *modelArrival, op portals.MDOption) (held bool) {
	p := &m.portals[a.event.Portal]
	for _, e := range p.candidates(a.primary) {
		if e.md == nil || !e.md.takes(op) || !e.admits(a) {
			continue
		}
		if !m.accept(a, e.md) {
			m.drop(a, "too long")
		}
		return false
	}
	if op == portals.OpPut && p.lazy {
		p.held = append(p.held, a)
		return true
	}
	m.drop(a, "no match")
	return false
}

// accept makes an MD take a message, if the MD has room.
func (m *model) accept(a *modelArrival, d *modelMD) (fits bool) {
	length, offset := int(a.header.PayloadLength), int(a.header.Put().Offset)
	if a.header.Type == wire.Get {
		length, offset = int(a.header.Get().SinkLength), int(a.header.Get().SrcOffset)
	}
	options := d.conf.Options
	if options&portals.ManageRemote == 0 {
		offset = d.offset
	}
	offset = min(offset, d.length)
	room := d.length - offset
	if options&portals.HasMaxSize != 0 {
		room = min(room, d.conf.MaxSize)
	}
	if length > room && options&portals.Truncate == 0 {
		return false
	}
	length = min(length, room)
	d.begin()
	d.offset = offset + length
	a.md = d
	a.event.Offset, a.event.MLength = uint32(offset), uint32(length)
	a.ack = a.header.Type == wire.Put && !a.header.Put().AckMD.IsNone() && options&portals.AckDisable == 0
	if d.auto && d.exhausted() {
		m.detach(d)
	}
	return true
}

// answer handles an ACK or REPLY of n bytes.
func (m *model) answer(a *modelArrival, to wire.MDHandle, n int, reply bool) {
	i := slices.IndexFunc(m.mds, func(d *modelMD) bool { return !d.dead && uint64(d.handle) == to.Object })
	if i < 0 || to.Interface != incarnation {
		m.drop(a, "stale handle")
		return
	}
	d := m.mds[i]
	switch {
	case d.threshold == 0 || d.me != nil || !d.awaits(reply):
		m.drop(a, "inactive MD")
		return
	case n > d.length && (!reply || d.conf.Options&portals.Truncate == 0):
		m.drop(a, "too long")
		return
	case !d.forget(a.event.Source, reply, true):
		m.drop(a, "not asked")
		return
	}
	d.begin()
	a.md = d
	a.event.MLength = uint32(min(n, d.length))
}

// deliver ends the arrival of a message that an MD took; all its bytes have the value fill.
func (m *model) deliver(a *modelArrival, fill byte, err error) {
	d, e := a.md, a.event
	if d == nil {
		return
	}
	if e.Kind == portals.EventPut || e.Kind == portals.EventReply {
		for i := range int(e.MLength) {
			d.memory[int(e.Offset)+i] = fill
		}
	}
	if e.Kind == portals.EventGet && err == nil {
		s := m.reply(a)
		s.header.PayloadLength = e.MLength
		s.header.SetReply(wire.ReplyCmd{DstMD: a.header.Get().ReturnMD})
		s.md, s.event, s.offset = d, e, int(e.Offset)
		m.send(s)
		return
	}
	m.complete(d, e, err)
	if a.ack && err == nil {
		s := m.reply(a)
		put := a.header.Put()
		s.header.SetAck(wire.AckCmd{DstMD: put.AckMD, MatchBits: put.MatchBits, MLength: e.MLength})
		m.send(s)
	}
}

// reply makes a message to the sender of another message.
func (m *model) reply(a *modelArrival) *modelSend {
	s := new(modelSend)
	s.header.SrcNID, s.header.SrcPID = a.header.DestNID, here.PID
	s.header.DestNID, s.header.DestPID = a.header.SrcNID, a.header.SrcPID
	return s
}
