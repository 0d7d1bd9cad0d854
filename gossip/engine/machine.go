package engine

import (
	"math/rand/v2"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// Kind says what an input is.
type Kind uint8

// The kinds of inputs.
const (
	Timer  Kind = iota
	Ping        // a ping arrived
	Reply       // a reply arrived
	Stage       // change to Input.List later, at Commit
	Commit      // change to the staged list
	Cancel      // discard the staged list
)

// Input is the input of a step of a [Machine]. The zero value means that the timer is due.
type Input struct {
	Kind Kind    // decides which fields are used
	From nid.NID // NID from which the message came, with Ping or Reply
	// Primary is the primary NID of the sender's node, if the transport has confirmed it, with Ping or Reply.
	// It may be equal to From, or invalid.
	Primary nid.NID
	Data    []byte // the message, with Ping or Reply; valid during Step
	List    *List  // the list to change to, with Stage
	Self    int    // index of this node in List, with Stage; -1: it is not in List
}

// Output has the actions that a step of a [Machine] asks its caller to carry out.
type Output struct {
	Sends  []Send  // in the order in which they are to be sent
	Events []Event // in the order in which they happened
	// Buf holds the data of Sends. It belongs to the caller after Step.
	Buf []byte
}

// Reset empties o and keeps its memory.
func (o *Output) Reset() { o.Sends, o.Events, o.Buf = o.Sends[:0], o.Events[:0], o.Buf[:0] }

// Send is a message to send.
type Send struct {
	To    nid.NID // the receiver
	Reply bool    // the message is a reply; otherwise a ping
	Begin int     // Data is Buf[Begin:End]
	End   int     // end of the message in Buf
}

// Data returns the message, part of o.Buf.
func (s *Send) Data(o *Output) []byte { return o.Buf[s.Begin:s.End] }

// Machine takes part in the gossip of one cluster (gossip design, with the decisions listed
// in the package text). See machine.Machine.
type Machine struct {
	cfg    Config
	limits Limits
	list   *List
	self   int
	rng    *rand.Rand
	ring   *keyring.Ring // nil without keys

	clock   lamport
	ages    ageVector
	cycle   uint64        // number of this node's cycles since the start
	merged  uint64        // this node's latest cycle in which ages of another node were merged
	last    time.Duration // when the last cycle began, or would have begun during a pause
	begun   bool
	stopped bool
	left    bool // this node has stopped because the new list is without it

	message      bool   // the input of this step is a message
	messageClock uint64 // the Lamport clock of that message

	health  health
	stealth stealth
	pause   pause
	params  agreement
	roll    roll
	trace   []heard // the latest news of each participant; nil unless Config.Trace
	stats   Stats
}

var _ machine.Machine[Input, Output] = (*Machine)(nil)

// New returns the machine of one participant of a list, whose index is self. Its first Step
// begins the protocol.
func New(cfg Config, list *List, self int) (*Machine, error) {
	limits, err := cfg.Limits(list.Len())
	if err != nil {
		return nil, err
	}
	if self < 0 || self >= list.Len() {
		return nil, invalid("this node is not in the list of %d participants", list.Len())
	}
	m := &Machine{cfg: cfg, limits: limits, list: list, self: self}
	m.ring = cfg.Keys.Ring(label)
	m.rng = rand.New(rand.NewPCG(cfg.Seed, stream(list.NID(self))))
	n := m.columns()
	m.ages = newAgeVector(n)
	m.health.init(n, list.Len(), choose(cfg.Quorum, 50))
	m.stealth.silent = !cfg.ColdStart
	if cfg.Trace {
		m.trace = make([]heard, n)
	}
	m.rejuvenate()
	if self < n {
		m.health.alive[self/lanes] |= 1 << (self % lanes)
	}
	m.health.changed = true
	return m, nil
}

// columns returns how many participants have an entry in the vector of ages: all, unless
// Config.Columns is less.
func (m *Machine) columns() int {
	if m.cfg.Columns > 0 {
		return min(m.cfg.Columns, m.list.Len())
	}
	return m.list.Len()
}

// rejuvenate sets this node's own age to 0 (rule 3).
func (m *Machine) rejuvenate() {
	if m.self < m.ages.n {
		m.ages.bytes[m.self] = 0
	}
}

// Step implements machine.Machine.
func (m *Machine) Step(now time.Duration, in Input, out *Output) (wake time.Duration) {
	if m.stopped {
		return machine.Never
	}
	if !m.begun {
		m.begun = true
		m.last = now - time.Duration(m.rng.Int64N(int64(m.cfg.Interval))) // start at a random phase of the interval
	}
	m.message = false
	m.catchUp(now, out)
	for now-m.last >= m.cfg.Interval && !m.stopped {
		m.last += m.cfg.Interval
		m.tick(out)
	}
	switch in.Kind {
	case Ping, Reply:
		m.receive(in, out)
	case Stage:
		m.stage(in)
	case Commit:
		m.commit(out)
	case Cancel:
		m.cancel()
	}
	if m.stopped {
		return machine.Never
	}
	m.review(out)
	return m.last + m.cfg.Interval
}

// tick begins a cycle.
func (m *Machine) tick(out *Output) {
	m.cycle++
	m.clock.tick(m.cycle, &m.limits, m.others())
	if m.clock.value >= maxClock {
		m.realign(0, out)
	}
	m.ages.age()
	m.rejuvenate()
	m.health.changed = true
	m.pause.tick(m, out)
	m.roll.tick(m)
	m.review(out)
	if m.stealth.tick(m, out) {
		return
	}
	to := m.partner()
	m.ping(to, out)
	if other := m.second(to); other >= 0 {
		m.stats.SecondPings++
		m.ping(other, out)
	}
}

// stop ends this node's part in gossip. A node that hears no messages any more considers all
// others dead.
func (m *Machine) stop(why Event, out *Output) {
	m.tell(out, why)
	m.stopped, m.pause = true, pause{}
	m.ages.forget()
	m.rejuvenate()
	m.health.changed = true
	m.review(out)
}
