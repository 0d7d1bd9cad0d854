package gossip

import (
	"sync"

	"ulnet/lnet/nid"
	"ulnet/portals"
)

// Bounds of messages that are on their way out, local policy. To a node that is
// dead they can be for as long as a transaction lasts, so that a few for each
// peer and many for all are needed. What exceeds them is not sent: gossip that
// is lost does no harm, and the next is fresher.
const (
	maxToPeer  = 2 // a ping and a reply
	maxSending = 256 << 20
)

// sender sends what the machine wants sent.
type sender struct {
	a     *Agent
	event func(*portals.Event) // made once

	mu     sync.Mutex
	free   []*sending      // guarded by mu, like all below
	toPeer map[nid.NID]int // on their way
	bytes  int             // of all that are on their way
}

// sending is a message on its way, with memory of its own: the machine's is
// used again while LNet may not have sent it.
type sending struct {
	to       nid.NID
	data     []byte
	segments [1]portals.Segment
}

func (s *sender) init(a *Agent) { s.a, s.event, s.toPeer = a, s.done, make(map[nid.NID]int) }

// send puts a message, with priority, from the NID that takes part; nobody
// waits for an answer (seed 003, Message Passing).
func (s *sender) send(m *Send, out *Output) {
	p := s.take(m.To, m.End-m.Begin)
	if p == nil {
		s.a.notSent.Add(1)
		return
	}
	p.data = append(p.data[:0], m.Data(out)...)
	p.segments[0] = p.data
	md, err := s.a.table.MDBind(portals.MD{
		Segments: p.segments[:], Threshold: 1, Options: portals.Priority, UserPtr: p, Handler: s.event,
	}, portals.Unlink)
	if err != nil {
		s.a.notSent.Add(1)
		s.give(p)
		return
	}
	bits := uint64(PingBits)
	if m.Reply {
		bits = ReplyBits
	}
	err = s.a.table.Put(portals.PutRequest{
		Self: s.a.self, MD: md, Target: nid.ProcessID{NID: m.To, PID: s.a.pid}, Portal: Portal, MatchBits: bits,
	})
	if err != nil {
		s.a.notSent.Add(1)
		_ = s.a.table.MDUnlink(md) // its event gives p back
	}
}

// take returns memory for a message of some bytes, or nil if too many are on
// their way.
func (s *sender) take(to nid.NID, size int) *sending {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.toPeer[to] >= maxToPeer || s.bytes+size > maxSending {
		return nil
	}
	s.toPeer[to]++
	s.bytes += size
	var p *sending
	if n := len(s.free); n > 0 {
		p, s.free = s.free[n-1], s.free[:n-1]
	} else {
		p = new(sending)
	}
	p.to = to
	return p
}

// kept bounds the memory of messages that is kept for the next ones.
const kept = 16

func (s *sender) give(p *sending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.toPeer[p.to]--; s.toPeer[p.to] == 0 {
		delete(s.toPeer, p.to)
	}
	s.bytes -= len(p.data)
	if len(s.free) < kept {
		s.free = append(s.free, p)
	}
}

// done handles the last event of a message.
func (s *sender) done(e *portals.Event) {
	if e.Err != nil {
		s.a.notSent.Add(1)
	}
	if e.Unlinked {
		s.give(e.UserPtr.(*sending))
	}
}
