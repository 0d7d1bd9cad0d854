package portals_test

import (
	"syscall"
	"time"

	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
)

// initiate starts a PUT or GET in the model.
func (m *model) initiate(typ wire.MsgType, d *modelMD, r portals.PutRequest) error {
	if !d.allows(1) {
		return syscall.ENOENT
	}
	if !d.has(r) {
		return syscall.EINVAL
	}
	d.begin()
	m.send(m.message(typ, d, r))
	return nil
}

// allows reports whether n operations may begin on the MD.
func (d *modelMD) allows(n int) bool {
	return !d.dead && d.me == nil && (d.threshold < 0 || d.threshold >= n)
}

// has reports whether the MD has the part that a request names.
func (d *modelMD) has(r portals.PutRequest) bool { return r.LocalOffset+r.Length <= d.length }

// message makes the message of an operation that has begun, and notes that its answer is awaited.
func (m *model) message(typ wire.MsgType, d *modelMD, r portals.PutRequest) *modelSend {
	self := nid.ProcessID{NID: nid.Any(), PID: here.PID}
	length := uint32(d.length - r.LocalOffset)
	if r.Length > 0 {
		length = uint32(r.Length)
	}
	s := &modelSend{md: d, offset: r.LocalOffset, event: portals.Event{
		Kind: portals.EventSend, Target: r.Target, Initiator: self, Source: self, Sender: nid.Any(), MsgType: typ,
		Portal: r.Portal, MatchBits: r.MatchBits, Offset: r.Offset, HdrData: r.HdrData, OpPtr: r.OpPtr,
		RLength: length, MLength: length,
	}}
	s.header.SrcNID, s.header.SrcPID = here.NID, here.PID
	s.header.DestNID, s.header.DestPID = r.Target.NID, r.Target.PID
	own := wire.MDHandle{Interface: incarnation, Object: uint64(d.handle)}
	if typ == wire.Get {
		s.header.SetGet(wire.GetCmd{
			ReturnMD: own, MatchBits: r.MatchBits, Portal: uint32(r.Portal), SrcOffset: r.Offset, SinkLength: length,
		})
		m.await(d, modelAsked{r.Target, true})
		return s
	}
	put := wire.PutCmd{
		AckMD: wire.NoHandle(), MatchBits: r.MatchBits, HdrData: r.HdrData, Portal: uint32(r.Portal), Offset: r.Offset,
	}
	if r.Ack {
		put.AckMD = own
		m.await(d, modelAsked{r.Target, false})
	}
	s.header.PayloadLength = length
	s.header.SetPut(put)
	return s
}

// await notes in the model that d awaits an answer.
func (m *model) await(d *modelMD, a modelAsked) {
	d.asked = append(d.asked, a)
	if d.conf.Options&portals.NoTrackResponse != 0 {
		return
	}
	d.since = m.now
	if m.sweepAt == 0 {
		m.sweepAt = m.now + m.timeout/2
	}
}

// send gives a message to the network when its peer has a credit.
func (m *model) send(s *modelSend) {
	id := s.header.DestNID
	if m.peers[id] == nil {
		m.peers[id] = new(modelPeer)
	}
	p := m.peers[id]
	s.queued, s.waited = m.now, p.inFlight >= m.credits
	p.queue = append(p.queue, s)
	m.launch(p)
}

func (m *model) launch(p *modelPeer) {
	for len(p.queue) > 0 && p.inFlight < m.credits {
		s := p.queue[0]
		p.queue = p.queue[1:]
		switch {
		case s.md != nil && s.md.aborted:
			m.ended(s, syscall.ECANCELED)
		case s.waited && m.now > s.queued+m.timeout:
			m.ended(s, syscall.ETIMEDOUT)
		default:
			p.inFlight++
			m.sent = append(m.sent, s)
		}
	}
}

// finish ends a message that the network had.
func (m *model) finish(s *modelSend, err error) {
	m.ended(s, err)
	p := m.peers[s.header.DestNID]
	p.inFlight--
	m.launch(p)
}

func (m *model) ended(s *modelSend, err error) {
	if s.md == nil {
		return
	}
	if s.event.Kind == portals.EventSend && err != nil {
		if get := s.event.MsgType == wire.Get; get || !s.header.Put().AckMD.IsNone() {
			s.md.forget(s.event.Target, get, false)
		}
	}
	if s.shared != nil {
		m.endShared(s, err)
		return
	}
	m.complete(s.md, s.event, err)
}

// advance lets time pass. While an answer is tracked, there is a check every half transaction
// timeout. The check gives up the MDs that have waited for longer than a whole timeout.
func (m *model) advance(d time.Duration) {
	end := m.now + d
	for m.sweepAt != 0 && m.sweepAt <= end {
		m.now, m.sweepAt = m.sweepAt, 0
		for _, d := range m.mds {
			switch {
			case d.since == 0:
			case m.now-d.since > m.timeout:
				d.late = true
				m.late++
				m.unlink(d)
			default:
				m.sweepAt = m.now + m.timeout/2
			}
		}
	}
	m.now = end
}
