package zone

import (
	"sync"

	"ulnet/lnet/nid"
	"ulnet/portals"
)

// Bounds of what is on its way out, and of the memory that is kept for more, in
// bytes, local policy. What exceeds them is not sent, as if it were lost: the
// protocol says it again.
const (
	maxToPeer  = 16 << 20
	maxSending = 256 << 20
	keptSpare  = 64
	keptSize   = 64 << 10 // of one message
)

// urgentSize is up to which size all messages have priority, in bytes; local policy.
// Small ones are signs of life: behind what others send to a node that takes nothing
// for a while, they would wait for its credits until the node is found dead.
const urgentSize = 1 << 10

// sender sends what the machine wants sent.
type sender struct {
	a     *Agent
	event func(*portals.Event) // made once

	mu     sync.Mutex
	free   []*sending      // guarded by mu, like all below
	toPeer map[nid.NID]int // bytes that are on their way
	bytes  int             // to all
}

// sending is a message on its way, with memory of its own: the machine's is used
// again while LNet may not have sent it.
type sending struct {
	to       target
	step     uint64
	data     []byte
	segments [1]portals.Segment
}

func (s *sender) init(a *Agent) { s.a, s.event, s.toPeer = a, s.done, make(map[nid.NID]int) }

// send puts a message; nobody waits for an acknowledgement. Notices to monitors go
// ahead of others (MS-A32), and so does what is small.
func (s *sender) send(to *target, data []byte, priority bool, step uint64) {
	p := s.take(to, data)
	if p == nil {
		s.a.notSent.Add(1)
		return
	}
	p.step = step
	md := portals.MD{Segments: p.segments[:], Threshold: 1, UserPtr: p, Handler: s.event}
	if priority || len(data) <= urgentSize {
		md.Options = portals.Priority
	}
	handle, err := s.a.table.MDBind(md, portals.Unlink)
	if err != nil {
		s.failed(p, true)
		s.give(p)
		return
	}
	err = s.a.table.Put(portals.PutRequest{
		MD: handle, Target: nid.ProcessID{NID: to.nid, PID: s.a.pid}, Portal: Portal, MatchBits: Bits,
	})
	if err != nil {
		s.failed(p, true)
		_ = s.a.table.MDUnlink(handle) // its event gives p back
	}
}

// take returns memory with a message, or nil if too much is on its way.
func (s *sender) take(to *target, data []byte) *sending {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.toPeer[to.nid]+len(data) > maxToPeer || s.bytes+len(data) > maxSending {
		return nil
	}
	s.toPeer[to.nid] += len(data)
	s.bytes += len(data)
	var p *sending
	if n := len(s.free); n > 0 {
		p, s.free = s.free[n-1], s.free[:n-1]
	} else {
		p = new(sending)
	}
	p.to, p.data = *to, append(p.data[:0], data...)
	p.segments[0] = p.data
	return p
}

func (s *sender) give(p *sending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.toPeer[p.to.nid] -= len(p.data); s.toPeer[p.to.nid] == 0 {
		delete(s.toPeer, p.to.nid)
	}
	s.bytes -= len(p.data)
	if len(s.free) < keptSpare && cap(p.data) <= keptSize {
		s.free = append(s.free, p)
	}
}

// done handles the last event of a message.
func (s *sender) done(e *portals.Event) {
	p := e.UserPtr.(*sending)
	if e.Err != nil && e.Kind == portals.EventSend {
		s.failed(p, portals.LocalFault(e.Err))
	}
	if e.Unlinked {
		s.give(p)
	}
}

// failed tells the machine of a message that was not sent.
func (s *sender) failed(p *sending, local bool) {
	s.a.notSent.Add(1)
	switch {
	case !p.to.id.IsValid():
	case p.to.across && local: // it counts nothing
	case p.to.across:
		s.a.runner.Do(stepInput{Input: Input{Kind: DispatchFailed}, about: p.to.id, step: p.step})
	default:
		s.a.runner.Do(stepInput{Input: Input{Kind: Failed, Local: local}, about: p.to.id, step: p.step})
	}
}
