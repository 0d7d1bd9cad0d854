package engine

import (
	"fmt"
	"time"

	"ulnet/lnet/machine"
	"ulnet/scoll/rmcast/wire"
)

// Reasons why a message is not sent, or why it is unknown which members have it.
var (
	ErrNotMember = wrong("this node is no member; join the group")
	ErrTooLong   = wrong("message longer than a window")
	ErrExpelled  = wrong("the manager has expelled this node; it can join again")
	ErrNotYet    = wrong("this node is not a member yet: wait for Ready")
	ErrLeft      = wrong("this node has left the group")
	ErrSplit     = wrong("the group has split: members that were silent, and may live, were left behind and may lack the message; Failed names them")

	// ErrUnfinished wraps ErrLeft.
	ErrUnfinished = fmt.Errorf("%w, and other members may lack its messages: they were not released within LeaveAfter, the manager counted the node as failed, or no manager answered", ErrLeft)
)

// sender is the additional state of a node's own stream.
type sender struct {
	stream  *stream
	sent    uint64 // all datagrams below this sequence number were sent
	waiting bool   // the event Full was reported, and Room must follow

	limit       int    // bound of the datagrams in flight (RM-A21)
	least, most int    // bounds of limit
	recover     uint64 // repairs of datagrams below this number have already reduced the limit
	before      int    // limit before it was last halved
	doubted     int    // repairs that caused the latest halving of limit, less those that were found needless
	earned      int    // number of datagrams released since the limit last rose
	burst       int    // datagrams of a long message that were sent since paceAt was set
	paceAt      time.Duration

	beatAt time.Duration
	beats  int
	tailAt time.Duration // when to send the next tail probe
	tails  int           // number of tail probes sent
}

// send accepts a message of the user if the window has room (RM-A16).
func (m *Machine) send(data []byte, token any) {
	s := m.sender.stream
	switch {
	case m.state != member && m.state != joining:
		m.emit(Effect{Kind: Lost, Token: token, Why: ErrNotMember})
		return
	case s == nil || m.switching():
		m.full(token)
		return
	case len(data) > s.roster.maxMessage():
		m.emit(Effect{Kind: Lost, Token: token, Why: ErrTooLong})
		return
	}
	size := s.roster.fragment
	count := max(1, (len(data)+size-1)/size)
	if s.head+uint64(count)-s.stable > uint64(len(s.slots)) {
		m.full(token)
		return
	}
	first := s.head
	for i := range count {
		piece := data[i*size : min((i+1)*size, len(data))]
		sl := s.slot(s.head)
		sl.have, sl.index, sl.size = true, uint16(i), uint32(len(piece))
		s.store(sl, piece)
		s.head++
	}
	f := s.slot(first)
	f.count, f.here, f.length, f.token = uint16(count), uint16(count), uint32(len(data)), token
	m.stats.Sent++
	m.emit(Effect{Kind: Accepted, Token: token, Seq: first})
}

func (m *Machine) full(token any) {
	m.sender.waiting = true
	m.emit(Effect{Kind: Full, Token: token})
}

// pump sends the messages that window and pace allow.
func (m *Machine) pump() {
	p := &m.sender
	s := p.stream
	if s == nil {
		return
	}
	for p.sent < s.head && m.mayDatagram(s) {
		what := span{p.sent, p.sent + 1}
		var flags wire.DatagramFlags
		if what.first-uint64(s.slot(what.first).index) > s.stable {
			flags = wire.FlagBatch
		}
		p.sent++
		for end := s.together(what.first, s.head); p.sent < end && m.mayDatagram(s); what.end = p.sent {
			p.sent++
		}
		m.datagramOut(s, what, flags)
		for seq := what.first; seq < what.end; seq++ {
			index := s.slot(seq).index
			if first := seq - uint64(index); index == s.slot(first).count-1 {
				s.deliver(first)
				s.advance()
			}
		}
	}
}

// datagramOut sends datagrams that go together to all members for the first time.
func (m *Machine) datagramOut(s *stream, what span, flags wire.DatagramFlags) {
	m.stats.Datagrams++
	if n := what.end - what.first; n > 1 {
		m.stats.Packed += n
	}
	m.beatLater()
	m.sender.tails = 0
	m.tailLater(s)
	if s.roster.tree {
		for _, k := range s.children {
			s.forward(k, what, flags)
		}
		return
	}
	if len(s.roster.peers) > 1 {
		d, data := s.datagramOf(what, flags)
		if s.slot(what.first).count == 1 {
			m.out.casts = append(m.out.casts, cast{len(m.out.Effects), d, s.roster.fragment})
		}
		m.emit(Effect{Kind: DoMulticast, Head: m.encoded(&d), Data: data})
	}
}

// mayDatagram reports whether the next datagram may be sent now. A message longer than the
// limit is sent in bursts, one per round trip.
func (m *Machine) mayDatagram(s *stream) bool {
	p := &m.sender
	index := uint64(s.slot(p.sent).index)
	switch {
	case p.sent-s.stable < uint64(p.limit):
		p.burst, p.paceAt = 0, m.now+m.rtt.estimate(&m.cfg)
		return true
	case index == 0 || p.sent-index != s.stable:
		return false
	case p.paceAt <= m.now:
		p.burst, p.paceAt = 1, m.now+m.rtt.estimate(&m.cfg)
		return true
	case p.burst > 0 && p.burst < p.limit:
		p.burst++
		return true
	}
	m.wake = min(m.wake, p.paceAt)
	return false
}

// released handles the release of a message: all members have it (RM-2).
func (s *stream) released(first uint64, f *slot) {
	m, p := s.m, &s.m.sender
	s.advance()
	m.stats.Released++
	failed, why := m.failed(s.roster)
	m.emit(Effect{Kind: Released, Token: f.token, Seq: first, Version: s.roster.version, Failed: failed, Why: why})
	f.token = nil
	before := s.stable
	for s.stable < s.head && s.slot(s.stable).complete {
		s.freeTo(s.stable + uint64(s.slot(s.stable).count))
	}
	if s.stable == before {
		return
	}
	p.faster(int(s.stable - before))
	m.beatLater()
	if m.state == leaving && s.stable == s.head {
		m.reportSoon()
	}
	m.room()
}

// room emits Room, once, if the user was told Full before and there is room again.
func (m *Machine) room() {
	if m.sender.waiting && !m.switching() {
		m.sender.waiting = false
		m.emit(Effect{Kind: Room})
	}
}

// failed lists the failed members of a version. The error is ErrSplit if one of them may be
// alive.
func (m *Machine) failed(r *roster) (failed Range, why error) {
	begin := len(m.out.IDs)
	if r.failed > 0 {
		for _, p := range r.peers {
			if p.dead {
				m.out.IDs = append(m.out.IDs, p.id)
				if p.silent {
					why = ErrSplit
				}
			}
		}
	}
	return Range{begin, len(m.out.IDs)}, why
}

// switching reports whether the origin must change to a newer version as soon as nothing is in
// flight.
func (m *Machine) switching() bool {
	s := m.sender.stream
	return s == nil || m.usable.Compare(s.roster.version) > 0 && m.group.get(m.usable) != nil
}

// trySwitch starts to send under the newest usable version, if nothing is in flight under the
// previous one. So an origin never has messages of two versions in flight.
func (m *Machine) trySwitch() {
	p := &m.sender
	r := m.group.get(m.usable)
	if r == nil || r.self < 0 || m.state != member && m.state != joining {
		return
	}
	if p.stream == nil {
		p.stream = m.stream(r.peers[r.self])
		p.stream.enter(r, 1, 1)
		p.sent = 1
		m.emit(Effect{Kind: Joined, Version: r.version})
	} else if s := p.stream; m.switching() && s.stable == s.head {
		s.enter(r, s.head, s.head)
	} else {
		return
	}
	p.start(r, m.active())
	p.beatAt, p.tailAt = machine.Never, machine.Never
	m.reportSoon()
	m.room()
}

// beatLater postpones this node's heartbeat.
func (m *Machine) beatLater() {
	p := &m.sender
	p.beats, p.beatAt = 0, m.now+m.cfg.Idle
	m.wake = min(m.wake, p.beatAt)
}

// heartbeat tells all members up to where this origin has sent, and up to where its messages
// are stable (RM-A6).
func (m *Machine) heartbeat() {
	p := &m.sender
	p.beats++
	p.beatAt = machine.Never
	if p.beats < beats {
		p.beatAt = m.now + m.cfg.Idle<<p.beats
	}
	m.beat()
}

// tailLater schedules a tail probe in case acknowledgements take longer than usual (as TCP's
// tail loss probe). A member that lacks the last datagrams sees no gap, and cannot rely on
// control messages about them, which may have overtaken the datagrams.
func (m *Machine) tailLater(s *stream) {
	after := 2 * m.rtt.estimate(&m.cfg)
	for _, k := range s.children {
		after = max(after, min(m.acks[min(k.depth, maxLevels-1)].spread(), maxSpread))
	}
	m.sender.tailAt = m.now + after<<m.sender.tails
	m.wake = min(m.wake, m.sender.tailAt)
}

func (m *Machine) tail() {
	p := &m.sender
	p.tailAt = machine.Never
	s := p.stream
	if s.stable == p.sent || s.roster.tree {
		return
	}
	m.beat()
	if p.tails++; p.tails < beats {
		m.tailLater(s)
	}
}

// beat sends a heartbeat: a datagram without payload.
func (m *Machine) beat() {
	p := &m.sender
	s := p.stream
	d := wire.Datagram{Group: m.cfg.Group, Version: s.roster.version, Origin: s.number(), Seq: p.sent, Stable: s.stable, First: s.first}
	m.stats.Heartbeats++
	if !s.roster.tree {
		m.emit(Effect{Kind: DoMulticast, Head: m.encoded(&d)})
		return
	}
	d.Flags = wire.FlagTree
	for _, k := range s.children {
		m.emit(Effect{Kind: DoRepair, To: s.roster.peers[k.rank].id.NID, Head: m.encoded(&d)})
	}
}
