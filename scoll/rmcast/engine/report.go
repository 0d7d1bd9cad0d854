package engine

import (
	"slices"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// state is the relation of a node to the group.
type state uint8

const (
	out     state = iota
	joining       // the node has sent a request to join, and has no list yet
	member
	leaving // the node still serves the messages in flight (RM-A11)
)

func (s state) String() string { return [...]string{"out", "joining", "member", "leaving"}[s] }

// relation is a member's relation to the manager.
type relation struct {
	state       state
	epoch       uint64        // highest epoch heard of; orders of lower ones are refused (RM-A9)
	manager     nid.NID       // NID of the manager of that epoch
	orderAt     time.Duration // when that manager last sent an order
	outrankedBy nid.NID       // manager whose order this member last refused
	outrankedAt time.Duration
	refusal     error // why managers refuse this node; nil after an order
	candidate   int   // index of the manager to try next
	unanswered  int
	usable      wire.Version // newest version that this node may send under
	asking      bool         // there may be a list that this node lacks
	reportAt    time.Duration
	reportedAt  time.Duration
	leaveAt     time.Duration
	untold      bool // the membership has ended, and the manager may still count this node as a member, see Farewell
}

// join starts to join the group, also again as a new member.
func (m *Machine) join() {
	if m.state != out {
		return
	}
	m.state, m.unanswered, m.orderAt, m.untold = joining, 0, m.now, false
	m.report()
}

// forgetAll drops all state except the epoch.
func (m *Machine) forgetAll() {
	m.group = membership{byID: make(map[wire.ID]*peer)}
	m.streams, m.delayed, m.sender, m.usable, m.held, m.heldN, m.kept = nil, nil, sender{}, wire.Version{}, nil, 0, 0
}

// leave starts to leave the group. When no message of this node is in flight any more, its reports
// tell the manager that it leaves.
func (m *Machine) leave() {
	switch m.state {
	case joining:
		m.end(ErrLeft)
		m.untold = true // the manager may have listed this node already
	case member:
		m.state, m.leaveAt = leaving, m.now+m.cfg.LeaveAfter
		m.wake = min(m.wake, m.leaveAt)
		m.reportSoon()
	}
}

// end makes this node leave the group at once, for a reason.
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
	m.self.Incarnation++ // the next join is of a new incarnation
	m.emit(Effect{Kind: Gone, Why: why})
	if waiting {
		m.emit(Effect{Kind: Room}) // so that waiting senders learn that the membership has ended
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

// reportSoon schedules a report for the end of this step.
func (m *Machine) reportSoon() { m.reportAt = min(m.reportAt, m.now) }

// leftOut asks the manager for a list that this node may lack.
func (m *Machine) leftOut() {
	m.asking = true
	if m.state != out {
		m.reportAt = min(m.reportAt, max(m.now, m.reportedAt+m.cfg.ReportInterval/8))
		m.wake = min(m.wake, m.reportAt)
	}
}

// report tells the manager this node's state, or asks to join. Managers that do not answer are
// tried in turn.
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
	if m.state == joining && m.unanswered > rotateAfter && m.refusal == nil {
		m.inquire(to)
	}
}

// sendReport sends a report. epoch is the highest epoch that this node has heard of.
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

// known sends a new manager all members of the versions in use, those on the newest list first,
// and the failed ones (RM-A9).
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
	for i := len(m.group.rosters) - 1; i >= 0; i-- { // older lists contain the members that have left
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
