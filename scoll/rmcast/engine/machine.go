package engine

import (
	"math/rand/v2"
	"slices"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast/wire"
)

// Machine is the state machine of one member of one group. See machine.Machine for the
// contract.
type Machine struct {
	cfg     Config
	self    wire.ID
	group   membership
	streams []*stream // in the order in which their origins were first heard
	sender  sender
	rtt     rtt
	acks    [maxLevels]rtt // acknowledgement times of children, by the height of their subtrees
	late    peak           // delays of datagrams: the time from a control message about a datagram to its arrival
	relation
	held     []held
	heldN    int      // number of bytes in held
	kept     int      // bytes kept of datagrams of other origins
	spare    [][]byte // free buffers for datagrams
	admitted admitted
	wall     wallClock
	complaints
	rng   *rand.Rand
	stats Stats

	out     *Output // output of the current step
	now     time.Duration
	wake    time.Duration
	patient bool // this step may delay acknowledgements
	touched []*stream
	delayed []*stream // streams that delay acknowledgements, see flushAcks
	batches []batch
	taken   []wire.Entry // memory for takeAcks
}

// held is a message that needs a version whose list has not come yet (RM-A9).
type held struct {
	kind InputKind
	cast bool // the message came by multicast
	from nid.NID
	at   time.Duration
	data []byte
}

// batch is the control entries for one member in a step.
type batch struct {
	to      nid.NID
	entries []wire.Entry
}

var _ machine.Machine[Input, Output] = (*Machine)(nil)

// New returns a machine. It takes part in the group from the input Join on.
func New(cfg Config) *Machine {
	cfg = cfg.Filled()
	m := &Machine{cfg: cfg, self: wire.ID{NID: cfg.Self, Incarnation: cfg.Incarnation}, rng: rand.New(rand.NewPCG(cfg.Seed, cfg.Incarnation)), wake: machine.Never}
	m.group.byID = make(map[wire.ID]*peer)
	m.admitted, m.wall = admit(cfg.Admit, cfg.Managers), newWallClock(cfg.Wall, cfg.Incarnation)
	m.reportAt, m.leaveAt = machine.Never, machine.Never
	return m
}

// Step implements machine.Machine.
func (m *Machine) Step(now time.Duration, in Input, out *Output) (wake time.Duration) {
	m.now, m.out, m.patient = now, out, false
	m.wall.start(now)
	m.wall.set(in.Wall, now)
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

// ticks handles all deadlines that have passed, and computes the next one.
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
		m.sendReport(m.manager, m.epoch) // it names the next incarnation, so this one has ended
		m.untold = true                  // the report may be lost
	}
	m.wake = min(m.wake, m.leaveAt, m.reportAt)
}

// emit appends an effect.
func (m *Machine) emit(e Effect) { m.out.Effects = append(m.out.Effects, e) }

// dirty marks a stream for flushAcks at the end of the step.
func (m *Machine) dirty(s *stream) {
	if !slices.Contains(m.touched, s) {
		m.touched = append(m.touched, s)
	}
}

// flush sends the control messages of the step.
func (m *Machine) flush() {
	for _, s := range m.touched {
		s.flushAcks()
	}
	m.touched = m.touched[:0]
	m.joinAcks()
	var known wire.Version
	if r := m.group.latest(); r != nil {
		known = r.version
	}
	for i := range m.batches {
		l := &m.batches[i]
		for rest := l.entries; len(rest) > 0; {
			n := min(len(rest), wire.MaxEntries)
			begin := len(m.out.Buf)
			m.out.Buf = wire.AppendControl(m.out.Buf, m.cfg.Group, known, rest[:n])
			m.emit(Effect{Kind: DoControl, To: l.to, Head: Range{begin, len(m.out.Buf)}})
			rest = rest[n:]
		}
		l.entries = l.entries[:0]
	}
	m.batches = m.batches[:0]
}

// tell adds an entry to the batch for a member.
func (m *Machine) tell(r *roster, rank int, e wire.Entry) {
	if rank < 0 {
		return
	}
	to := r.peers[rank].id.NID
	for i := range m.batches {
		if m.batches[i].to == to {
			m.batches[i].entries = append(m.batches[i].entries, e)
			return
		}
	}
	if n := len(m.batches); n < cap(m.batches) { // reuse the memory of an earlier batch
		m.batches = m.batches[:n+1]
		m.batches[n].to, m.batches[n].entries = to, append(m.batches[n].entries[:0], e)
		return
	}
	m.batches = append(m.batches, batch{to, []wire.Entry{e}})
}

// expel tells the sender of a message that it is not a member any more. The manager sends the same
// notice, but its notice may not reach that node, so members send one too.
func (m *Machine) expel(r *roster, rank int) {
	m.tell(r, rank, wire.Entry{Kind: wire.Expelled, Version: r.version, Origin: r.number(rank)})
}

func (m *Machine) encoded(d *wire.Datagram) Range {
	begin := len(m.out.Buf)
	m.out.Buf = d.AppendTo(m.out.Buf)
	return Range{begin, len(m.out.Buf)}
}

// chance reports, at random, whether a fault with a probability happens.
func (m *Machine) chance(p float64) bool { return p > 0 && m.rng.Float64() < p }

// roster returns the roster of a version, or nil if it is not known.
func (m *Machine) roster(v wire.Version) *roster { return m.group.get(v) }

// hold keeps a message of an unknown version, and asks the manager for its list (RM-A9).
// Versions older than all known ones will not become known. One sender may use half of the room
// for such messages.
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

// heldOf counts the held messages of a sender.
func (m *Machine) heldOf(from nid.NID) (n int) {
	for i := range m.held {
		if m.held[i].from == from {
			n++
		}
	}
	return n
}

// expireHeld drops messages that were held for too long: the list does not exist, or was lost.
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

// unhold processes the held messages again.
func (m *Machine) unhold() {
	list := m.held
	m.held, m.heldN = nil, 0
	faults := m.cfg.Faults
	m.cfg.Faults = Faults{} // faults were applied when the messages first arrived
	for _, h := range list {
		if h.kind == Arrival {
			m.arrive(h.from, h.data, h.cast)
		} else {
			m.control(h.from, h.data)
		}
	}
	m.cfg.Faults = faults
}
