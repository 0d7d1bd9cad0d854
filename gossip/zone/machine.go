package zone

import (
	"crypto/hmac"
	"crypto/sha256"
	"math/rand/v2"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// InputKind tells inputs apart.
type InputKind uint8

// The kinds of inputs, with the fields of [Input] that they use.
const (
	Timer     InputKind = iota
	Join                // Inc: begin a life with this incarnation, higher than any before
	Leave               // Code: say goodbye
	Arrived             // Data, Peer: a message arrived as bytes
	Delivered           // Message: a message of a machine with the same table
	Down                // Node: the transport lost its connection to a node in Output.Watch
	Failed              // Node, Local: a send to it failed; Local: for a reason of this host alone
	Set                 // Key, Value: write an attribute
	Delete              // Key: delete an attribute
)

// Input is what a [Machine] steps on; the zero value is the timer. Data and Value
// are valid during Step.
type Input struct {
	Kind    InputKind
	Node    Ref
	Local   bool
	Code    int32
	Inc     uint64
	Peer    nid.NID // who sent Data, as the transport says
	Data    []byte
	Message *Message
	Key     string
	Value   []byte
}

// Send is a message to send.
type Send struct {
	To         Ref     // 0: to NID, of which no more is known
	NID        nid.NID // with To 0
	Priority   bool    // no acknowledgement, ahead of others (MS-A32)
	Message    Message // without Config.Wire
	Begin, End int     // with Config.Wire: it is Output.Buf[Begin:End]
	short      uint64  // of the receiver
}

// Output is what a [Machine] wants done, in order.
type Output struct {
	Sends  []Send
	Events []Event
	Watch  []Ref // from now on Down tells when the connection to them is lost
	Ignore []Ref // no longer
	Buf    []byte
}

// Reset empties o and keeps its memory.
func (o *Output) Reset() {
	clear(o.Sends)
	clear(o.Events)
	*o = Output{o.Sends[:0], o.Events[:0], o.Watch[:0], o.Ignore[:0], o.Buf[:0]}
}

// life is whether a machine takes part. Transitions:
//
//	idle -- Join --> joined -- Leave --> left -- Join, with a higher incarnation --> joined
type life uint8

const (
	idle life = iota
	joined
	left
)

var lifeNames = [...]string{"idle", "joined", "left"}

// Machine is one node of a zone. See machine.Machine.
type Machine struct {
	cfg   Config
	codec codec
	self  Ref
	life  life
	ver   Version // own
	began time.Duration
	rng   rand.PCG

	bootstrap  []Ref
	view       view
	announced  map[Ref]uint32 // minor numbers that listeners were told, where newer ones came since
	history    history
	suspicions suspicions
	delta      delta
	links      links
	topology   topology
	beat       beat
	discovery  discovery
	blind      blind
	pauses     pauses
	attributes attributes
	stats      Stats

	in    Message // of the step that is made
	lists Lists
	// Who sent it, for one of whom no more is known.
	peer    nid.NID
	inShort uint64

	out *Output
	now time.Duration // active time
}

var _ machine.Machine[Input, Output] = (*Machine)(nil)

// New returns a machine, which takes no part before Join. The error is a
// *[ConfigError] or says that the ids do not fit the table.
func New(cfg Config) (*Machine, error) {
	cfg, err := cfg.Filled()
	if err != nil {
		return nil, err
	}
	m := &Machine{cfg: cfg, codec: codec{table: cfg.Table, zone: ZoneNumber(cfg.Zone), most: cfg.MaxMessage}}
	if m.self, err = cfg.Table.Add(cfg.Self); err != nil {
		return nil, err
	}
	m.codec.self = m.self
	if len(cfg.Key) > 0 {
		m.codec.mac = hmac.New(sha256.New, cfg.Key)
	}
	for _, id := range cfg.Bootstrap {
		r, err := cfg.Table.Add(id)
		if err != nil {
			return nil, err
		}
		if r != m.self {
			m.bootstrap = append(m.bootstrap, r)
		}
	}
	m.cfg.Bootstrap = nil
	m.rng.Seed(cfg.Seed, m.codec.short(m.self))
	m.pauses.init(2 * cfg.Heartbeat)
	return m, nil
}

// Step implements machine.Machine.
func (m *Machine) Step(now time.Duration, in Input, out *Output) (wake time.Duration) {
	m.out = out
	begin := len(out.Sends)
	var missed time.Duration
	if m.now, missed = m.pauses.enter(now); missed > 0 && m.life == joined {
		m.paused(missed)
	}
	m.apply(&in)
	if m.life == joined {
		m.expire()
	}
	if m.cfg.Wire {
		m.encode(begin)
	}
	m.out, m.lists.View = nil, nil
	return m.pauses.leave(now, m.next())
}

func (m *Machine) apply(in *Input) {
	if in.Kind == Join {
		m.join(in.Inc)
		return
	}
	if m.life != joined {
		return
	}
	switch in.Kind {
	case Leave:
		m.leave(in.Code)
	case Arrived:
		m.arrived(in)
	case Delivered:
		m.in, m.peer = *in.Message, nid.NID{}
		m.receive()
	case Down:
		m.down(in.Node)
	case Failed:
		m.failed(in.Node, in.Local)
	case Set:
		m.write(Attribute{Key: in.Key, Value: append([]byte{}, in.Value...)})
	case Delete:
		m.write(Attribute{Key: in.Key, Deleted: true})
	}
}

// expire does what is due.
func (m *Machine) expire() {
	if m.now >= m.beat.at {
		m.heartbeat()
	}
	m.expireLinks()
	m.judge()
	if m.now >= m.topology.at {
		m.chooseNeighbours()
	}
	if m.now >= m.delta.at {
		m.flush()
	}
	if m.now >= m.attributes.at {
		m.reconcile()
	}
	if m.now >= m.discovery.at {
		m.discover()
	}
}

// next returns the active time of the next thing to do.
func (m *Machine) next() time.Duration {
	if m.life != joined {
		return machine.Never
	}
	return min(m.beat.at, m.links.next(m), m.topology.at, m.delta.at, m.attributes.at, m.discovery.at)
}

// join begins a life.
func (m *Machine) join(inc uint64) {
	if m.life == joined || inc <= m.ver.Inc || inc > MaxIncarnation {
		m.stats.BadJoins++
		return
	}
	m.ver, m.life, m.began = Version{inc, 1}, joined, m.now
	m.view = view{table: m.cfg.Table}
	m.history, m.suspicions, m.announced = history{}, suspicions{}, nil
	m.delta = delta{at: machine.Never}
	m.links, m.blind, m.discovery = links{}, blind{}, discovery{}
	m.attributes.init(m)
	m.view.set(m.self, entry{inc: inc, minor: 1, state: inView})
	m.beat.at = m.now + m.beatInterval()
	m.topology = topology{at: machine.Never}
	m.discovery.begin(m)
}

// leave says goodbye to all neighbours (MS-40) and ends this life.
func (m *Machine) leave(code int32) {
	lists := &Lists{Leaves: []Departure{{m.self, m.ver, code}}}
	m.links.each(up, func(l *link) { m.send(l.node, Message{Kind: Update, Lists: lists}) })
	for i := range m.links.list {
		m.out.Ignore = append(m.out.Ignore, m.links.list[i].node)
	}
	m.life = left
}

// rand returns a number below n.
func (m *Machine) rand(n int) int { return int(m.rng.Uint64() % uint64(n)) }

// send sends a message to a node.
func (m *Machine) send(to Ref, msg Message) {
	msg.From, msg.Version = m.self, m.ver
	m.out.Sends = append(m.out.Sends, Send{To: to, short: m.codec.short(to), Message: msg})
	m.stats.Sent[msg.Kind]++
}

// answer sends a message to the sender of the one that is processed.
func (m *Machine) answer(msg Message) {
	if m.in.From != 0 && (!m.cfg.Wire || m.cfg.Table.ID(m.in.From).IsValid()) {
		m.send(m.in.From, msg)
		return
	}
	if !m.peer.IsValid() {
		return
	}
	m.send(0, msg)
	s := &m.out.Sends[len(m.out.Sends)-1]
	s.NID, s.short = m.peer, m.inShort
}

// encode replaces the messages of a step by their bytes.
func (m *Machine) encode(begin int) {
	sends := m.out.Sends[begin:]
	for i, n := 0, len(sends); i < n; i++ {
		s := &m.out.Sends[begin+i]
		msg := s.Message
		if msg.Kind.lists() || msg.Kind.tables() || msg.Kind == AttributeData {
			m.encodeLists(begin+i, &msg)
			continue
		}
		s.Begin = len(m.out.Buf)
		m.out.Buf = m.codec.appendFixed(m.out.Buf, &msg)
		m.out.Buf = m.codec.sign(m.out.Buf, s.Begin, s.short)
		s.End, s.Message = len(m.out.Buf), Message{Kind: msg.Kind}
	}
}

// encodeLists encodes a message with lists: the first part in its place, others at
// the end of all sends.
func (m *Machine) encodeLists(at int, msg *Message) {
	first := true
	e := encoder{codec: &m.codec, m: msg, to: m.out.Sends[at].short, b: m.out.Buf}
	e.emit = func(begin, end int) {
		s := m.out.Sends[at]
		s.Begin, s.End, s.Message = begin, end, Message{Kind: msg.Kind}
		if first {
			m.out.Sends[at], first = s, false
			return
		}
		m.out.Sends = append(m.out.Sends, s)
		m.stats.Sent[msg.Kind]++
	}
	e.encode()
	m.out.Buf = e.b
}
