package recovery

import (
	"cmp"
	"slices"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// Settings are the settings of recovery that an operator changes at run time. The zero value is the default.
type Settings struct {
	// Limit is for how long after its last message a peer NI is pinged (lnet_recovery_limit);
	// 0: without end.
	Limit time.Duration
	// MaxInterval bounds the time between two pings (lnet_max_recovery_ping_interval);
	// 0 means 900 s. An NI of this node is pinged once a minute at least.
	MaxInterval time.Duration
}

// The kernel's intervals.
const (
	firstInterval      = time.Second
	defaultMaxInterval = 900 * time.Second
)

// Bounds of the machine; local policy. NIs of this node and those of peers have separate ones, so that however many
// peers are dead, an NI of this node is pinged in time.
const (
	maxTargets = 4096
	maxPings   = 64 // most pings in progress
)

// maxOwnInterval bounds the time between two pings of an NI of this node; local policy. There are few such NIs, and
// an NI that works again but is not known to is lost to all peers. In LNet such an NI is back after a few seconds,
// because it pings itself.
const maxOwnInterval = time.Minute

// Target is an NI whose health is reduced.
type Target struct {
	NID   nid.NID `json:"nid"`   // NID of the NI
	Local bool    `json:"local"` // the NI is one of this node
}

// Compare orders targets: those of this node first, then by NID.
func (a Target) Compare(b Target) int {
	if a.Local != b.Local {
		if a.Local {
			return -1
		}
		return 1
	}
	return a.NID.Compare(b.NID)
}

// Kind says what an Input reports.
type Kind uint8

// Kinds of inputs.
const (
	Timer Kind = iota // the wake time has come
	Hurt              // the health of Target has fallen
	Heard             // a message of Target arrived or was sent, or its link or status is up again
	Ended             // the ping of Target has ended, answered or not
	Set               // the Settings have changed
)

// Input is what has happened.
type Input struct {
	Kind   Kind   // what happened
	Target Target // NI that the input is about; not for Timer and Set
	// Whole says that the health is 1000 now; for Hurt, Heard and Ended.
	Whole bool
	// LastHeard is when the last message came from a peer NI; negative: never. For
	// Hurt and Heard.
	LastHeard time.Duration
	Settings  Settings // new settings, for Set
}

// Output is what the machine wants done: each ping ends with an input Ended.
type Output struct {
	Pings []Target // NIs that are to be pinged now
}

// Reset empties o, but keeps its memory for reuse.
func (o *Output) Reset() { o.Pings = o.Pings[:0] }

// Stats counts what the machine did and did not do.
type Stats struct {
	Pings   uint64 `json:"pings"`    // pings sent
	Unheard uint64 `json:"unheard"`  // peer NIs that are not pinged because nothing ever came from them
	GivenUp uint64 `json:"given_up"` // peer NIs that are no longer pinged because nothing has come from them for recovery_limit
	Full    uint64 `json:"full"`     // NIs that are not pinged because too many others are
}

// Status is the state of an NI that is being recovered.
type Status struct {
	Target               // the NI that is being recovered
	Count  int           // pings since the last message from the NI
	Next   time.Duration // time of the next ping, on the clock of the machine
}

// entry is the state of a Target that is being recovered.
type entry struct {
	Target
	due     machine.Deadline[*entry]
	count   int
	pinging bool
	heard   time.Duration
}

// load counts what is bounded.
type load struct {
	targets int // entries
	pings   int // pings in progress
}

// Machine decides when NIs that are not well are pinged. It fulfils
// machine.Machine[Input, Output].
type Machine struct {
	settings Settings
	entries  map[Target]*entry
	due      machine.Deadlines[*entry]
	own      load // that of the NIs of this node
	peers    load // that of peer NIs
	stats    Stats
}

// NewMachine makes a machine that has nothing to recover.
func NewMachine(s Settings) *Machine {
	return &Machine{settings: s, entries: make(map[Target]*entry)}
}

// Step implements machine.Machine.
func (m *Machine) Step(now time.Duration, in Input, out *Output) (wake time.Duration) {
	switch in.Kind {
	case Hurt, Heard:
		m.changed(now, in)
	case Ended:
		m.ended(in)
	case Set:
		m.settings = in.Settings
	}
	for d := m.due.Pop(now); d != nil; d = m.due.Pop(now) {
		m.ping(now, d.Of, out)
	}
	return m.due.Next()
}

// changed notes that the health of a target has fallen or risen. A message from the target
// restarts the back-off, and if it is a peer NI that was given up, the pings begin again.
func (m *Machine) changed(now time.Duration, in Input) {
	e := m.entries[in.Target]
	switch {
	case in.Whole:
		m.forget(e)
	case e != nil:
		e.heard = max(e.heard, in.LastHeard)
		if in.Kind == Heard {
			e.count = 0
			m.due.Set(&e.due, min(e.due.At(), now+m.interval(e)))
		}
	case !in.Target.Local && in.LastHeard < 0:
		m.stats.Unheard++
	case m.load(in.Target).targets >= maxTargets:
		m.stats.Full++
	default:
		e = &entry{Target: in.Target, heard: in.LastHeard}
		e.due.Of = e
		m.entries[in.Target] = e
		m.load(in.Target).targets++
		m.due.Set(&e.due, now+m.interval(e))
	}
}

// load returns the load to which a target belongs.
func (m *Machine) load(t Target) *load {
	if t.Local {
		return &m.own
	}
	return &m.peers
}

// ended notes that a ping has ended.
func (m *Machine) ended(in Input) {
	m.load(in.Target).pings--
	e := m.entries[in.Target]
	if e == nil {
		return
	}
	e.pinging = false
	if in.Whole {
		m.forget(e)
	}
}

// ping appends a ping of e, whose turn has come.
func (m *Machine) ping(now time.Duration, e *entry, out *Output) {
	switch l := m.load(e.Target); {
	case !e.Local && m.settings.Limit > 0 && now-e.heard > m.settings.Limit:
		m.stats.GivenUp++
		m.forget(e)
	case e.pinging || l.pings >= maxPings:
		m.due.Set(&e.due, now+firstInterval)
	default:
		e.pinging = true
		e.count++
		l.pings++
		m.stats.Pings++
		out.Pings = append(out.Pings, e.Target)
		m.due.Set(&e.due, now+m.interval(e))
	}
}

// interval returns the time to the next ping after e.count pings (lnet_get_next_recovery_ping).
func (m *Machine) interval(e *entry) time.Duration {
	most := cmp.Or(m.settings.MaxInterval, defaultMaxInterval)
	if e.Local {
		most = min(most, maxOwnInterval)
	}
	return min(firstInterval<<min(e.count, 20), most)
}

func (m *Machine) forget(e *entry) {
	if e != nil {
		m.due.Clear(&e.due)
		delete(m.entries, e.Target)
		m.load(e.Target).targets--
	}
}

// Stats returns the counters so far.
func (m *Machine) Stats() Stats { return m.stats }

// Targets returns the NIs that are being recovered, of this node or of peers, by NID.
func (m *Machine) Targets(local bool) (list []Status) {
	for _, e := range m.entries { // any order: the list is sorted below
		if e.Local == local {
			list = append(list, Status{e.Target, e.count, e.due.At()})
		}
	}
	slices.SortFunc(list, func(a, b Status) int { return a.Compare(b.Target) })
	return list
}

// Of returns the status of one target; the zero value if it is not being recovered.
func (m *Machine) Of(t Target) Status {
	if e := m.entries[t]; e != nil {
		return Status{e.Target, e.count, e.due.At()}
	}
	return Status{}
}
