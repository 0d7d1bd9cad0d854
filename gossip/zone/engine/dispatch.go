package engine

// DispatchKind tells messages of the hierarchy apart.
type DispatchKind uint8

// The kinds of messages of the hierarchy, and which fields of [Dispatch] they use
// besides Kind, Flags, From, Version and Zone.
const (
	Register   DispatchKind = 1 + iota // delegate → supervisor: Activation, Registration, Size, Hash, Known; Joined, Left: changes of the zone, or with Whole all of it
	Registered                         // answer: Registration; Activation: the highest, of one that is no delegate any more; Want: send all; Joined: all supervisors, unless Known is theirs; Known; Taken: About; NoRoom: it is not registered
	Unregister                         // delegate → supervisor: it is no delegate any more, or has another supervisor: Registration
	Alarm                              // delegate → supervisor → monitors: About, AboutVersion, Reporters: a member is suspected (MS-101, MS-A32)
	Query                              // anybody → supervisor: Number: who is in the zone (MS-99)
	Answer                             // answer: Number, Size, Joined; Unknown: the zone is not guarded here
	dispatchKinds
)

var dispatchNames = [dispatchKinds]string{"?0?", "register", "registered", "unregister", "alarm", "query", "answer"}

// String returns the name of the kind.
func (k DispatchKind) String() string { return name(dispatchNames[:], int(k)) }

// MarshalText implements encoding.TextMarshaler.
func (k DispatchKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// DispatchFlags say more about a message of the hierarchy.
type DispatchFlags uint16

// The flags; the first is [Signed].
const (
	Whole     DispatchFlags = 2 << iota // Register: Joined is all of the zone
	Want                                // Registered: send all
	Unknown                             // Answer: the zone is not guarded here
	Continued                           // another message goes on with Joined
	Continues                           // this goes on
	Taken                               // Registered: About, another active delegate of a zone with this name, counts
	NoRoom                              // Registered: the supervisor has no room for the zone, or for one more delegate of it
	dispatchFlagsEnd
)

// Named is a node of another zone and a version of it.
type Named struct {
	ID      ID      `json:"id"`
	Version Version `json:"version"`
}

// Dispatch is a message between zones: between the delegates of a base zone and the
// supervisors in the management zone. It names nodes by their ids, because those have
// other tables. It is not changed once it was sent.
//
//	0  4  magic         "HIER"
//	4  1  version
//	5  1  kind
//	6  2  flags
//	8     from          id, version
//	      zone          u8 length, name
//	   8  activation
//	   8  registration
//	   8  hash
//	   8  known
//	   8  number
//	   4  size
//	   4  reporters
//	      about         id or a length of 0, version or zeros
//	      joined        u32 count; id, version
//	      left          the same
//
// and, if it is signed, a code as for other messages. Ids and versions are as there.
type Dispatch struct {
	Kind         DispatchKind
	Flags        DispatchFlags
	From         ID
	Version      Version
	Zone         string // the base zone
	Activation   uint64
	Registration uint64
	Hash         uint64 // of the base zone's view
	Known        uint64 // hash of the supervisors that the delegate knows
	Number       uint64
	Size         uint32
	Reporters    uint32
	About        ID
	AboutVersion Version
	Joined, Left []Named
}

const (
	dispatchMagic = "HIER"
	dispatchFixed = 8 + memberOverhead + 1 + 5*8 + 2*4 + memberOverhead + 4 + 4 + codeSize
)

// size returns how many bytes a dispatch has when it is sent.
func (d *Dispatch) size() int {
	n := dispatchFixed + len(d.From.canonical) + len(d.Zone) + len(d.About.canonical)
	for _, list := range [][]Named{d.Joined, d.Left} {
		for i := range list {
			n += memberOverhead + len(list[i].ID.canonical)
		}
	}
	return n
}

// DispatchSend is a message to another zone.
type DispatchSend struct {
	To         ID
	Priority   bool
	Dispatch   *Dispatch // without Config.Wire
	Begin, End int       // with Config.Wire: it is Output.Buf[Begin:End]
	Size       int       // in bytes
}

// dispatch sends a message to another zone, in parts if it has to be.
func (m *Machine) dispatch(to ID, d *Dispatch, priority bool) {
	d.From, d.Version = m.cfg.Self, m.ver
	m.stats.Dispatched[d.Kind]++
	rest := d.Joined
	for m.cfg.Wire && d.size() > m.cfg.MaxMessage && len(rest) > 1 {
		part := *d
		n := max(1, (m.cfg.MaxMessage-dispatchFixed-2*maxID-maxZone)/(memberOverhead+maxID))
		n = min(n, len(rest)-1)
		part.Joined, part.Left, part.Flags = rest[:n], nil, d.Flags|Continued
		m.dispatchOne(to, &part, priority)
		rest = rest[n:]
		next := *d
		next.Joined, next.Flags = rest, d.Flags|Continues
		d = &next
	}
	m.dispatchOne(to, d, priority)
}

func (m *Machine) dispatchOne(to ID, d *Dispatch, priority bool) {
	s := DispatchSend{To: to, Priority: priority, Dispatch: d, Size: d.size()}
	if !m.codec.ring.On() {
		s.Size -= codeSize
	}
	if m.cfg.Wire {
		if m.codec.ring.On() {
			d.Flags |= DispatchFlags(Signed)
		}
		s.Begin = len(m.out.Buf)
		m.out.Buf = d.AppendTo(m.out.Buf)
		m.out.Buf = m.codec.sign(m.out.Buf, s.Begin, to.Position().short())
		s.Dispatch, s.End = nil, len(m.out.Buf)
	}
	m.out.Dispatches = append(m.out.Dispatches, s)
}

// dispatchArrived processes a message of another zone that came as bytes.
func (m *Machine) dispatchArrived(b []byte) {
	if m.codec.ring.On() {
		ok := false
		if b, ok = m.codec.signed(b); !ok || len(b) < 8 {
			m.stats.refuse(errCode)
			return
		}
	} else if len(b) >= 8 && b[6]&byte(Signed) != 0 {
		m.stats.refuse(errCode)
		return
	}
	d, err := parseDispatch(b)
	if err != nil {
		m.stats.refuse(err)
		return
	}
	m.dispatched(d)
}

// dispatched processes a message of another zone.
func (m *Machine) dispatched(d *Dispatch) {
	switch {
	case d.Kind == Registered && m.delegate != nil && d.Zone == m.cfg.Zone:
		m.delegate.registered(m, d)
	case d.Kind == Answer:
		m.answered(d)
	case d.Kind == Alarm && m.cfg.Supervisor:
		m.alarmed(d)
	case m.cfg.Supervisor && (d.Kind == Register || d.Kind == Unregister):
		m.supervisor.register(m, d)
	case m.cfg.Supervisor && d.Kind == Query:
		m.supervisor.query(m, d)
	default:
		m.stats.StrayDispatches++
	}
}
