package scoll

import (
	"sync"

	"ulnet/lnet/nid"
	"ulnet/portals"
)

// sender sends messages as plain PUTs with priority, without acknowledgement
// (seed 000, Reliable delivery).
type sender struct {
	a     *Agent
	event func(*portals.Event) // made once

	mu   sync.Mutex
	free []*sending // guarded by mu
}

// sending is a message on its way, with memory of its own.
type sending struct {
	id       RequestID // 0: nobody waits to hear that it left
	child    int
	part     uint32
	up       bool
	progress bool
	failed   error
	data     []byte // header, with what follows it down the tree
	trailer  []byte
	segments [3]portals.Segment
}

func (s *sender) init(a *Agent) { s.a, s.event = a, s.done }

func (s *sender) take() *sending {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		p := s.free[n-1]
		s.free = s.free[:n-1]
		return p
	}
	return new(sending)
}

func (s *sender) give(p *sending) {
	*p = sending{data: p.data[:0], trailer: p.trailer[:0]}
	s.mu.Lock()
	s.free = append(s.free, p)
	s.mu.Unlock()
}

// refuse sends a reply that no request waits for.
func (s *sender) refuse(e *Effect, out *Output) {
	p := s.take()
	p.data = append(p.data, out.Buf[e.Data.Begin:e.Data.End]...)
	p.data = s.a.signReply(p.data, e.To, e.Bits, p.data)
	s.put(p, e.To, ReplyPortal, e.Bits, nil)
}

// tell sends word of progress, or of holding.
func (s *sender) tell(e *Effect, out *Output) {
	p := s.take()
	p.id, p.child, p.progress = e.ID, e.Child, true
	p.data = s.a.sign(append(p.data, out.Buf[e.Data.Begin:e.Data.End]...), e.To)
	s.put(p, e.To, RequestPortal, 0, nil)
}

// put sends a message: data, then payload, then trailer.
func (s *sender) put(p *sending, to nid.NID, portal int, bits uint64, payload []byte) {
	p.failed = nil
	segments := append(p.segments[:0], p.data)
	if len(payload) > 0 {
		segments = append(segments, payload)
	}
	if len(p.trailer) > 0 {
		segments = append(segments, p.trailer)
	}
	md, err := s.a.table.MDBind(portals.MD{
		Segments: segments, Threshold: 1, Options: portals.Priority, UserPtr: p, Handler: s.event,
	}, portals.Unlink)
	if err != nil {
		s.settle(p, err)
		return
	}
	err = s.a.table.Put(portals.PutRequest{
		Self: s.a.self, MD: md, Target: nid.ProcessID{NID: to, PID: s.a.pid}, Portal: portal, MatchBits: bits,
	})
	if err != nil {
		p.failed = err
		_ = s.a.table.MDUnlink(md) // its event settles p
	}
}

// done handles the events of a message: SEND, or UNLINK if it did not begin.
func (s *sender) done(e *portals.Event) {
	p := e.UserPtr.(*sending)
	if e.Err != nil {
		p.failed = e.Err
	}
	if e.Unlinked {
		s.settle(p, p.failed)
	}
}

// settle ends the sending of a message.
func (s *sender) settle(p *sending, err error) {
	in := Input{Kind: InSent, ID: p.id, Child: p.child, Part: p.part, Status: statusOf(err)}
	switch {
	case p.up:
		in.Child = Upward
	case p.progress:
		in.Kind = InUntold
	}
	tell := p.id != 0 && (p.up || err != nil)
	s.give(p)
	if tell {
		s.a.do(in)
	}
}
