package engine

import (
	"slices"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// state is how a node stands to the group.
type state uint8

const (
	out     state = iota
	joining       // asked, no list yet
	member
	leaving // serves what is under way (RM-A11)
)

func (s state) String() string { return [...]string{"out", "joining", "member", "leaving"}[s] }

// relation is a member's relation to the manager.
type relation struct {
	state       state
	epoch       uint64        // the highest that was heard of; lower ones are refused (RM-A9)
	manager     nid.NID       // of that epoch
	orderAt     time.Duration // when it was heard
	outrankedBy nid.NID       // whose order was refused latest
	outrankedAt time.Duration
	refusal     error // of this node's messages, by a manager; nil after an order
	candidate   int   // whom to ask if that does not answer
	unanswered  int
	usable      wire.Version // what may be sent under
	asking      bool         // there may be a list that this node lacks
	reportAt    time.Duration
	reportedAt  time.Duration
	leaveAt     time.Duration
}

// join begins to take part, or does so again as another one.
func (m *Machine) join() {
	if m.state != out {
		return
	}
	m.state, m.unanswered, m.orderAt = joining, 0, m.now
	m.report()
}

// forgetAll begins anew with nothing but the epoch.
func (m *Machine) forgetAll() {
	m.group = membership{byID: make(map[wire.ID]*peer)}
	m.streams, m.sender, m.usable, m.held, m.heldN, m.kept = nil, sender{}, wire.Version{}, nil, 0, 0
}

// leave ends taking part: once nothing of this node is in flight the manager is told.
func (m *Machine) leave() {
	switch m.state {
	case joining:
		m.end(ErrLeft)
	case member:
		m.state, m.leaveAt = leaving, m.now+m.cfg.LeaveAfter
		m.wake = min(m.wake, m.leaveAt)
		m.reportSoon()
	}
}

// end is the end of taking part.
func (m *Machine) end(why error) {
	if m.state == out {
		return
	}
	m.state, m.reportAt, m.leaveAt = out, machine.Never, machine.Never
	if s := m.sender.stream; s != nil {
		for seq := s.stable; seq < s.head; seq++ {
			if f := s.slot(seq); f.count > 0 && f.index == 0 && !f.complete {
				m.emit(Effect{Kind: Lost, Token: f.token, Seq: seq, Why: why})
			}
		}
	}
	waiting := m.sender.waiting
	m.forgetAll()
	m.group.rosters = nil
	m.self.Incarnation++ // for the next time
	m.emit(Effect{Kind: Gone, Why: why})
	if waiting {
		m.emit(Effect{Kind: Room}) // they are told that it is over
	}
}

// oldest is the version below which this node has nothing in flight (RM-A7).
func (m *Machine) oldest() wire.Version {
	s, latest := m.sender.stream, m.group.latest()
	switch {
	case s != nil && (m.state != leaving || s.stable < s.head):
		return s.roster.version
	case latest != nil:
		return latest.version
	}
	return wire.Version{}
}

// reportSoon reports at the end of this step.
func (m *Machine) reportSoon() { m.reportAt = min(m.reportAt, m.now) }

// leftOut asks the manager whether there is a list that this node lacks.
func (m *Machine) leftOut() {
	m.asking = true
	if m.state != out {
		m.reportAt = min(m.reportAt, max(m.now, m.reportedAt+m.cfg.ReportInterval/8))
		m.wake = min(m.wake, m.reportAt)
	}
}

// report tells the manager how far this node is, or asks it to take part. Who does
// not answer is not the manager any more.
func (m *Machine) report() {
	m.expireHeld()
	m.reportAt, m.reportedAt = m.now+m.cfg.ReportInterval, m.now
	m.wake = min(m.wake, m.reportAt)
	to := m.manager
	if m.unanswered >= rotateAfter || !to.IsValid() || m.state == joining {
		to = m.cfg.Managers[m.candidate%len(m.cfg.Managers)]
		m.candidate++
	}
	m.unanswered++
	m.sendReport(to, m.epoch)
}

// sendReport also says which epoch is the highest that was heard of.
func (m *Machine) sendReport(to nid.NID, epoch uint64) {
	o := wire.Order{Kind: wire.OrderReport, Group: m.cfg.Group, Epoch: epoch, Incarnation: m.self.Incarnation, Oldest: m.oldest(), MTU: uint32(m.cfg.MTU), Capacity: uint32(m.cfg.Capacity)}
	if r := m.group.latest(); r != nil {
		o.Version = r.version
	}
	s := m.sender.stream
	switch {
	case m.state == joining:
		o.Kind = wire.OrderJoin
	case m.state == leaving && (s == nil || s.stable == s.head):
		o.Flags |= wire.OrderLeaving
	}
	if m.asking {
		o.Flags |= wire.OrderAsking
	}
	m.out.order(to, &o)
}

// known tells a new manager of all members of versions that are in use, and of those
// that failed (RM-A9). Those on the newest list are first.
func (m *Machine) known(to nid.NID, flags wire.OrderFlags, you uint32) {
	o := wire.Order{
		Kind: wire.OrderKnown, Flags: flags, You: you, Group: m.cfg.Group, Epoch: m.epoch, Incarnation: m.self.Incarnation, Usable: m.usable, Oldest: m.oldest(),
		MTU: uint32(m.cfg.MTU), Capacity: uint32(m.cfg.Capacity),
	}
	if m.state == leaving {
		o.Flags |= wire.OrderLeaving
	}
	latest := m.group.latest()
	if latest != nil {
		o.Version, o.Voters, o.Of = latest.version, latest.voters, latest.of
	}
	var silent []wire.ID
	if latest != nil {
		silent = latest.silent
	}
	seen := make(map[*peer]bool)
	for i := len(m.group.rosters) - 1; i >= 0; i-- { // leavers are in older ones only
		r := m.group.rosters[i]
		for rank, p := range r.peers {
			switch {
			case seen[p]:
			case p.dead && slices.Contains(silent, p.id):
			case p.dead:
				o.Departed = append(o.Departed, p.id)
			default:
				o.Members = append(o.Members, wire.Member{ID: p.id, Number: r.numbers[rank]})
			}
			seen[p] = true
		}
		if r == latest {
			o.Window = uint32(len(o.Members))
		}
	}
	o.Departed, o.Silent = append(o.Departed, silent...), uint16(len(silent))
	m.out.order(to, &o)
}
