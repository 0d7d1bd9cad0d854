package engine

import (
	"math/rand/v2"
	"slices"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// Machine is one member of one group. See machine.Machine.
type Machine struct {
	cfg     Config
	self    wire.ID
	group   membership
	streams []*stream // in the order in which their origins were first heard
	sender  sender
	rtt     rtt
	acks    [maxLevels]rtt // times that children took to acknowledge, by the levels of their subtrees
	late    peak           // by how much datagrams were overtaken
	relation
	held     []held
	heldN    int      // bytes
	kept     int      // bytes of other origins' datagrams
	spare    [][]byte // for datagrams
	admitted admitted
	wall     wallClock
	complaints
	rng   *rand.Rand
	stats Stats

	out     *Output // of the step that is made
	now     time.Duration
	wake    time.Duration
	patient bool // acknowledgements may wait for more
	touched []*stream
	letters []letter
}

// held is a message of a version whose list has not come yet (RM-A9).
type held struct {
	kind InputKind
	cast bool // by multicast
	from nid.NID
	at   time.Duration
	data []byte
}

// letter is what one member is told in a step.
type letter struct {
	to      nid.NID
	entries []wire.Entry
}

var _ machine.Machine[Input, Output] = (*Machine)(nil)

// New returns a machine. It takes part after the input Join.
func New(cfg Config) *Machine {
	cfg = cfg.Filled()
	m := &Machine{cfg: cfg, self: wire.ID{NID: cfg.Self, Incarnation: cfg.Incarnation}, rng: rand.New(rand.NewPCG(cfg.Seed, cfg.Incarnation)), wake: machine.Never}
	m.group.byID = make(map[wire.ID]*peer)
	m.admitted, m.wall.incarnation = admit(cfg.Admit, cfg.Managers), cfg.Incarnation
	m.reportAt, m.leaveAt = machine.Never, machine.Never
	return m
}

// Step implements machine.Machine.
func (m *Machine) Step(now time.Duration, in Input, out *Output) (wake time.Duration) {
	m.now, m.out, m.patient = now, out, false
	m.wall.start(now)
	m.apply(&in)
	if m.wake <= now {
		m.ticks()
	}
	m.trySwitch()
	m.pump()
	if m.reportAt <= now {
		m.report()
	}
	m.flush()
	m.out = nil
	return max(m.wake, now+1)
}

func (m *Machine) apply(in *Input) {
	switch in.Kind {
	case Timer:
	case Arrival:
		m.arrive(in.From, in.Data, in.Multicast)
	case Control:
		m.control(in.From, in.Data)
	case Instructed:
		m.instructed(in.From, in.Data)
	case Send:
		m.send(in.Data, in.Token)
	case Join:
		m.join()
	case Leave:
		m.leave()
	case SetFaults:
		m.cfg.Faults = in.Faults
	}
}

// ticks does all that is due, and finds out when something is again.
func (m *Machine) ticks() {
	m.wake = machine.Never
	for _, s := range m.streams {
		if s.due <= m.now {
			s.tick()
		}
		m.wake = min(m.wake, s.due)
	}
	p := &m.sender
	if p.stream != nil {
		if p.beatAt <= m.now {
			m.heartbeat()
		}
		if p.tailAt <= m.now {
			m.tail()
		}
		m.wake = min(m.wake, p.beatAt, p.tailAt)
	}
	if m.leaveAt <= m.now {
		m.end(ErrUnfinished)
	}
	m.wake = min(m.wake, m.leaveAt, m.reportAt)
}

// emit appends an effect.
func (m *Machine) emit(e Effect) { m.out.Effects = append(m.out.Effects, e) }

// dirty makes sure that a stream's acknowledgements are looked at in this step.
func (m *Machine) dirty(s *stream) {
	if !slices.Contains(m.touched, s) {
		m.touched = append(m.touched, s)
	}
}

// flush sends what the step has to tell other members.
func (m *Machine) flush() {
	for _, s := range m.touched {
		s.flushAcks()
	}
	m.touched = m.touched[:0]
	var known wire.Version
	if r := m.group.latest(); r != nil {
		known = r.version
	}
	for i := range m.letters {
		l := &m.letters[i]
		for rest := l.entries; len(rest) > 0; {
			n := min(len(rest), wire.MaxEntries)
			begin := len(m.out.Buf)
			m.out.Buf = wire.AppendControl(m.out.Buf, m.cfg.Group, known, rest[:n])
			m.emit(Effect{Kind: DoControl, To: l.to, Head: Range{begin, len(m.out.Buf)}})
			rest = rest[n:]
		}
		l.entries = l.entries[:0]
	}
	m.letters = m.letters[:0]
}

// tell puts an entry into the letter to a member.
func (m *Machine) tell(r *roster, rank int, e wire.Entry) {
	if rank < 0 {
		return
	}
	to := r.peers[rank].id.NID
	for i := range m.letters {
		if m.letters[i].to == to {
			m.letters[i].entries = append(m.letters[i].entries, e)
			return
		}
	}
	if n := len(m.letters); n < cap(m.letters) { // with the memory of an earlier one
		m.letters = m.letters[:n+1]
		m.letters[n].to, m.letters[n].entries = to, append(m.letters[n].entries[:0], e)
		return
	}
	m.letters = append(m.letters, letter{to, []wire.Entry{e}})
}

// expel tells a member that it was expelled: its manager may be out of its reach.
func (m *Machine) expel(r *roster, rank int) {
	m.tell(r, rank, wire.Entry{Kind: wire.Expelled, Version: r.version, Origin: r.number(rank)})
}

// sendDatagram sends a datagram to one member.
func (m *Machine) sendDatagram(s *stream, rank int, d *wire.Datagram, fragment []byte) {
	m.emit(Effect{Kind: DoRepair, To: s.roster.peers[rank].id.NID, Head: m.lend(d), Data: m.copied(fragment)})
}

func (m *Machine) multicast(d *wire.Datagram, fragment []byte) {
	m.emit(Effect{Kind: DoMulticast, Head: m.lend(d), Data: m.copied(fragment)})
}

// copied puts a fragment where it stays as it is until the effect of the step is
// applied: there may be further steps before that, which use its buffer again.
func (m *Machine) copied(fragment []byte) []byte {
	begin := len(m.out.Buf)
	m.out.Buf = append(m.out.Buf, fragment...)
	return m.out.Buf[begin:len(m.out.Buf):len(m.out.Buf)]
}

func (m *Machine) lend(d *wire.Datagram) Range {
	begin := len(m.out.Buf)
	m.out.Buf = d.AppendTo(m.out.Buf)
	return Range{begin, len(m.out.Buf)}
}

// chance draws whether a fault happens.
func (m *Machine) chance(p float64) bool { return p > 0 && m.rng.Float64() < p }

// roster returns the roster of a version, nil if it is not known.
func (m *Machine) roster(v wire.Version) *roster { return m.group.get(v) }

// hold keeps a message of a version that is not known yet, and asks for its list
// (RM-A9). What is older than all that is known does not come any more. One sender gets
// half of the room.
func (m *Machine) hold(kind InputKind, from nid.NID, b []byte, v wire.Version, cast bool) {
	latest := m.group.latest()
	switch {
	case latest != nil && v.Compare(latest.version) < 0 || v.Epoch < m.epoch:
		m.stats.OldVersion++
		return
	case m.state == out:
		m.stats.NotMember++
		return
	case !m.admitted.has(from) && (latest == nil || latest.rankOf(from) < 0):
		m.stats.Stranger++
		return
	case m.wall.isAhead(v.Epoch, m.now):
		m.stats.Ahead++
		m.complaints.refused(m.now, m.out, from, wire.RefusedAhead)
		return
	case len(m.held) == maxHeld || m.heldOf(from) >= maxHeld/2 || latest != nil && m.heldN+len(b) > latest.maxMessage()+maxHeld*wire.HeaderSize:
		m.stats.Unknown++
		return
	}
	m.stats.Held++
	m.held = append(m.held, held{kind, cast, from, m.now, append([]byte(nil), b...)})
	m.heldN += len(b)
	m.leftOut()
}

func (m *Machine) holdEntry(from nid.NID, e *wire.Entry) {
	m.hold(Control, from, wire.AppendControl(nil, m.cfg.Group, wire.Version{}, []wire.Entry{*e}), e.Version, false)
}

// heldOf is how many messages of a sender are held.
func (m *Machine) heldOf(from nid.NID) (n int) {
	for i := range m.held {
		if m.held[i].from == from {
			n++
		}
	}
	return n
}

// expireHeld drops what was held for long: there is no such list, or it was lost.
func (m *Machine) expireHeld() {
	m.held = slices.DeleteFunc(m.held, func(h held) bool {
		old := m.now-h.at >= heldFor
		if old {
			m.heldN -= len(h.data)
			m.stats.Unknown++
		}
		return old
	})
}

// unhold looks again at what was held.
func (m *Machine) unhold() {
	list := m.held
	m.held, m.heldN = nil, 0
	faults := m.cfg.Faults
	m.cfg.Faults = Faults{} // they have been drawn
	for _, h := range list {
		if h.kind == Arrival {
			m.arrive(h.from, h.data, h.cast)
		} else {
			m.control(h.from, h.data)
		}
	}
	m.cfg.Faults = faults
}
