package engine

import (
	"time"

	"ulnet/lnet/machine"
	"ulnet/scoll/wire"
)

// Machine is the part of one node in collectives. See machine.Machine.
type Machine struct {
	cfg          Config
	services     map[wire.ServiceID]*registration
	table        table
	incarnations incarnations
	shares       shares
	admission    admission
	opening      []*group // groups whose window may have room for more broadcasts, in this step
	requests     requests
	pipelines    pipelines
	health       health
	parse        func([]byte) (*wire.Membership, error)
	bits         uint64 // match bits for the next request
	incoming     int    // number of requests of other nodes under way
	lists        uint64 // bytes of lists of members that are being fetched
	stats        Stats

	out   *Output // output of the current step
	now   time.Duration
	began time.Duration // time of the machine's first step
	steps bool
}

type registration struct{ oob, pinned bool }

var _ machine.Machine[Input, Output] = (*Machine)(nil)

// New returns a machine.
func New(cfg Config) *Machine {
	m := &Machine{cfg: cfg.filled(), services: make(map[wire.ServiceID]*registration), parse: wire.ParseMembership}
	m.shares.init()
	m.table.init(&m.shares)
	m.incarnations.init(cfg.Self, cfg.Incarnation)
	m.requests.init()
	m.pipelines.init()
	m.health.init()
	m.bits = FirstBits(cfg.Incarnation)
	return m
}

// Config returns the configuration with its defaults.
func (m *Machine) Config() Config { return m.cfg }

// FirstBits returns the match bits of the first request that an incarnation of a node sends or
// forwards. The match bits rise by two with each request.
func FirstBits(incarnation uint64) uint64 { return scramble(incarnation) }

// scramble separates the match bits of different incarnations of a node, so that late answers
// to an earlier incarnation match nothing.
func scramble(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// Step implements machine.Machine.
func (m *Machine) Step(now time.Duration, in Input, out *Output) (wake time.Duration) {
	if !m.steps {
		m.steps, m.began = true, now
	}
	m.now, m.out = now, out
	m.apply(&in)
	m.expire()
	m.table.forget(now)
	m.takeHeld()
	m.letGo()
	m.inquireNow()
	m.out = nil
	return min(m.requests.wake(), m.table.wake(), m.incarnations.wake())
}

func (m *Machine) apply(in *Input) {
	switch in.Kind {
	case Timer:
	case Broadcast:
		m.broadcast(in.Broadcast)
	case Create:
		m.create(in.Broadcast)
	case Arrival:
		m.arrive(in)
	case Return:
		m.returned(in)
	case Register:
		m.services[in.Service] = &registration{in.OOB, in.Pinned}
	case Unregister:
		m.unregister(in.Service)
	case Listed:
		m.shares.listed = in.Listed
	case Convergence:
		m.cfg.Propagation = in.Timeout
	case Health:
		m.healthChanged(in)
	default:
		if r := m.requests.get(in.ID); r != nil {
			m.proceed(r, in)
		} else {
			m.stats.Late++
		}
	}
}

// proceed steps a request with an input.
func (m *Machine) proceed(r *request, in *Input) {
	switch in.Kind {
	case Answer:
		m.answer(r, in)
	case Abort:
		m.abort(r)
	case InPreRequest:
		m.prepared(r, in)
	case InIncoming:
		m.ran(r, in.Status)
	case InReply:
		r.calls--
		m.gather(r)
	case InPostReply:
		m.posted(r)
	case InReplyOut:
		m.finished(r)
	case InMapped:
		m.mapped(r, in)
	case InSent:
		m.sent(r, in)
	case InFetched:
		m.fetched(r, in)
	case InProgress:
		m.progressed(r, in.There)
	case InUntold:
		m.untold(r, in.Child)
	case InWithdrawn:
		m.withdrawn(r)
	}
}

// emit appends an effect.
func (m *Machine) emit(e Effect) { m.out.Effects = append(m.out.Effects, e) }

// appendBytes copies bytes to the output of the step.
func (m *Machine) appendBytes(b []byte) Range {
	begin := len(m.out.Buf)
	m.out.Buf = append(m.out.Buf, b...)
	return Range{begin, len(m.out.Buf)}
}

func (m *Machine) appendChildren(r *request) Range {
	begin := len(m.out.Children)
	for i := range r.children {
		m.out.Children = append(m.out.Children, r.children[i].Child)
	}
	return Range{begin, len(m.out.Children)}
}
