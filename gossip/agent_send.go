package gossip

import (
	"sync"

	"ulnet/lnet/nid"
	"ulnet/portals"
)

// maxSending bounds the messages that are on their way out. When so many do
// not get through, the next are not sent: gossip is lost without harm.
const maxSending = 64

// sender sends what the machine wants sent.
type sender struct {
	a     *Agent
	event func(*portals.Event) // made once

	mu      sync.Mutex
	free    []*sending // guarded by mu
	sending int        // guarded by mu
}

// sending is a message on its way, with memory of its own: the machine's is
// used again while LNet may not have sent it.
type sending struct {
	data     []byte
	segments [1]portals.Segment
}

func (s *sender) init(a *Agent) { s.a, s.event = a, s.done }

// send puts a message, with priority, from the NID that takes part; nobody
// waits for an answer (seed 003, Message Passing).
func (s *sender) send(m *Send, out *Output) {
	p := s.take()
	if p == nil {
		s.a.count(&s.a.notSent)
		return
	}
	p.data = append(p.data[:0], m.Data(out)...)
	p.segments[0] = p.data
	md, err := s.a.table.MDBind(portals.MD{
		Segments: p.segments[:], Threshold: 1, Options: portals.Priority, UserPtr: p, Handler: s.event,
	}, portals.Unlink)
	if err == nil {
		bits := uint64(PingBits)
		if m.Reply {
			bits = ReplyBits
		}
		err = s.a.table.Put(portals.PutRequest{
			Self: s.a.self, MD: md, Target: nid.ProcessID{NID: m.To, PID: s.a.pid}, Portal: Portal, MatchBits: bits,
		})
		if err != nil {
			_ = s.a.table.MDUnlink(md) // its event gives p back
			s.a.count(&s.a.notSent)
		}
		return
	}
	s.a.count(&s.a.notSent)
	s.give(p)
}

func (s *sender) take() *sending {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sending == maxSending {
		return nil
	}
	s.sending++
	if n := len(s.free); n > 0 {
		p := s.free[n-1]
		s.free = s.free[:n-1]
		return p
	}
	return new(sending)
}

func (s *sender) give(p *sending) {
	s.mu.Lock()
	s.sending--
	s.free = append(s.free, p)
	s.mu.Unlock()
}

// done handles the last event of a message.
func (s *sender) done(e *portals.Event) {
	if e.Err != nil {
		s.a.count(&s.a.notSent)
	}
	if e.Unlinked {
		s.give(e.UserPtr.(*sending))
	}
}
