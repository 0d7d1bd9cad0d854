package engine

import (
	"math/rand/v2"
	"time"

	"ulnet/gossip/zone/wire"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals/keyring"
)

// phase says whether a machine takes part in the zone. Transitions:
//
//	idle -- Join --> joined -- Leave --> left -- Join, with a higher incarnation --> joined
type phase uint8

const (
	idle phase = iota
	joined
	left
)

var phaseNames = [...]string{"idle", "joined", "left"}

// Machine is one node of a zone. See machine.Machine.
type Machine struct {
	cfg   Config
	codec wire.Codec
	self  wire.Ref
	phase phase
	ver   wire.Version // version (incarnation and minor number) of this node
	born  uint64       // incarnation number that Join gave; refutations may raise the number
	began time.Duration
	// farAhead is when a version that is too far ahead may be reported again.
	farAhead time.Duration
	// claim is when a claim of this node's id may be reported again.
	claim time.Duration
	twins *twinReports // nil until a member has had the name of another one
	rng   rand.PCG

	bootstrap  []wire.Ref
	view       view
	announced  map[wire.Ref]uint32 // minor numbers that listeners know, of nodes whose minor number is higher now
	history    history
	suspicions suspicions
	filings    filings
	summonses  summonses
	relayed    *relayed // nil until another node has passed on a goodbye of a member
	ahead      ahead    // nil until a version of a member was too far ahead of this node's clock
	delta      delta
	links      links
	topology   topology
	beat       beat
	discovery  discovery
	blind      blind
	pauses     pauses
	attributes attributes
	delegate   *delegation // nil unless this node is in a base zone with a management zone
	supervisor supervision
	stats      Stats

	in      wire.Message // the message that the step processes
	lists   wire.Lists
	peer    nid.NID // Input.Peer of that message; invalid: the message came as a struct
	primary nid.NID // Input.Primary of that message
	inShort uint64

	out *Output
	now time.Duration // active time of the step, without pauses: see pauses
}

var _ machine.Machine[Input, Output] = (*Machine)(nil)

// New returns a machine, which is not a member before Join. The error is an *[Error], or says
// that the ids do not fit the table.
func New(cfg Config) (*Machine, error) {
	cfg, err := cfg.Filled()
	if err != nil {
		return nil, err
	}
	if err := cfg.Table.use(cfg.Zone); err != nil {
		return nil, err
	}
	m := &Machine{cfg: cfg, codec: wire.Codec{Names: cfg.Table, Zone: wire.ZoneNumber(cfg.Zone), MaxBytes: cfg.MaxMessage}}
	if m.self, err = cfg.Table.Add(cfg.Self); err != nil {
		return nil, err
	}
	m.codec.Self = m.self
	m.SetKeys(cfg.Keys)
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
	m.rng.Seed(cfg.Seed, m.cfg.Table.Short(m.self))
	m.pauses.init(2 * cfg.Heartbeat)
	return m, nil
}

// Config returns the configuration with all defaults filled in, but without Bootstrap.
func (m *Machine) Config() Config { return m.cfg }

// Bootstrap returns the number of bootstrap nodes, without this one.
func (m *Machine) Bootstrap() int { return len(m.bootstrap) }

// Joined reports whether the node is a member.
func (m *Machine) Joined() bool { return m.phase == joined }

// SetKeys replaces the keys from now on.
func (m *Machine) SetKeys(keys keyring.Keys) {
	m.cfg.Keys, m.codec.Ring = keys, keys.Ring("") // "": zones sign with the key itself, not with a key derived from it, see docs/keys.md
}

// Verified returns how many messages each key has verified since it was set.
func (m *Machine) Verified() [2]uint64 {
	if !m.codec.Ring.On() {
		return [2]uint64{}
	}
	return m.codec.Ring.Verified
}

// Step implements machine.Machine.
func (m *Machine) Step(now time.Duration, in Input, out *Output) (wake time.Duration) {
	m.out = out
	begin := len(out.Sends)
	var missed time.Duration
	behind := m.pauses.behind(now)
	if in.At > 0 {
		behind = max(behind, now-in.At)
	}
	late := m.pauses.late(now) > m.cfg.Heartbeat/4
	if m.now, missed = m.pauses.enter(now); missed > 0 && m.phase == joined {
		m.paused(missed)
	}
	m.pauses.set(in.Wall)
	// The message waited in a queue of this node, and later messages of other nodes wait there too: for a
	// while, missing messages do not show that a node has failed.
	if late || in.At > 0 && now-in.At > m.cfg.Heartbeat/2 {
		m.stats.Late++
		m.pauses.until = m.now + m.cfg.Timeout
	}
	if behind > m.cfg.Aggregation/urgentParts {
		m.prolong()
	}
	m.apply(&in)
	if m.phase == joined {
		m.expire()
	}
	if m.cfg.Wire {
		m.encode(begin)
	}
	m.out, m.in = nil, wire.Message{} // the machine keeps no pointer to memory of its caller
	return m.pauses.leave(now, m.next())
}

func (m *Machine) apply(in *Input) {
	if in.Kind == Join {
		m.join(in.Inc)
		return
	}
	if m.phase != joined {
		return
	}
	switch in.Kind {
	case Leave:
		m.leave(in.Code)
	case Arrived:
		m.arrived(in)
	case Delivered:
		m.in, m.peer, m.primary = *in.Message, nid.NID{}, nid.NID{}
		m.receive()
	case Down:
		m.down(in.Node)
	case Failed:
		m.failed(in.Node, in.Local)
	case Set:
		m.write(wire.Attribute{Key: in.Key, Value: append([]byte{}, in.Value...)})
	case Delete:
		m.write(wire.Attribute{Key: in.Key, Deleted: true})
	case Remove:
		m.removeMember(in.Node)
	default:
		m.applyHierarchy(in)
	}
}

// applyHierarchy is apply for messages between zones.
func (m *Machine) applyHierarchy(in *Input) {
	switch in.Kind {
	case DispatchDelivered:
		m.peer, m.primary = nid.NID{}, nid.NID{}
		m.dispatched(in.Dispatch)
	case DispatchFailed:
		if m.delegate != nil {
			m.delegate.lost(m, in.To)
		}
	case QueryZone:
		m.query(in.Key, in.Number)
	}
}

// expire handles all deadlines that have passed.
func (m *Machine) expire() {
	if m.now >= m.beat.at {
		m.heartbeat()
	}
	m.expireLinks()
	m.judge()
	if m.now >= m.relayed.next() {
		m.removeRelayed()
	}
	if m.now >= m.summonses.at {
		m.summonAll()
	}
	if m.delegate != nil {
		m.delegate.expire(m)
	}
	if m.now >= m.supervisor.next() {
		m.supervisor.expire(m)
	}
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

// next returns when the next deadline is due, in active time (see pauses).
func (m *Machine) next() time.Duration {
	if m.phase != joined {
		return machine.Never
	}
	at := min(m.beat.at, m.links.next(m), m.topology.at, m.delta.at, m.attributes.at, m.discovery.at, m.supervisor.next(), m.suspicions.due, m.summonses.at, m.relayed.next())
	if m.delegate != nil {
		at = min(at, m.delegate.next(m))
	}
	if m.graces() {
		at = min(at, m.now+m.cfg.Aggregation/urgentParts)
	}
	return at
}

// join begins an incarnation.
func (m *Machine) join(inc uint64) {
	if m.phase == joined || inc <= m.ver.Inc || inc > wire.MaxIncarnation {
		m.stats.BadJoins++
		return
	}
	m.ver, m.phase, m.began, m.born = wire.Version{Inc: inc, Minor: 1}, joined, m.now, inc
	m.view = view{table: m.cfg.Table}
	m.history, m.suspicions, m.filings, m.announced = history{}, suspicions{}, nil, nil
	m.delta, m.summonses, m.relayed, m.ahead = delta{at: machine.Never}, summonses{at: machine.Never}, nil, nil
	m.links, m.blind, m.discovery = links{}, blind{}, discovery{}
	m.attributes.init(m)
	m.view.set(m.self, entry{inc: inc, minor: 1, state: inView})
	m.beat.at = m.now + m.beatInterval()
	m.topology = topology{at: machine.Never}
	m.discovery.begin(m)
	m.supervisor = supervision{most: maxGuardedMembers}
	if len(m.cfg.Management) > 0 {
		m.delegate = newDelegation(m)
	}
}

// leave says goodbye to all neighbours (MS-40), and to the supervisor, and ends this
// incarnation.
func (m *Machine) leave(code int32) {
	if m.delegate != nil {
		m.delegate.unregister(m, false)
	}
	lists := &wire.Lists{Leaves: []wire.Departure{{Node: m.self, Version: m.ver, Code: code}}}
	m.links.each(up, func(l *link) { m.send(l.node, wire.Message{Kind: wire.Update, Lists: lists}) })
	for i := range m.links.list {
		m.out.Ignore = append(m.out.Ignore, m.links.list[i].node)
	}
	m.phase = left
}
