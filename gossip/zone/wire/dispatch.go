package wire

import "encoding/binary"

// DispatchKind tells messages of the hierarchy apart.
type DispatchKind uint8

// The kinds of messages of the hierarchy, and which fields of [Dispatch] they use
// besides Kind, Flags, From, Version and Zone.
const (
	Register   DispatchKind = 1 + iota // delegate → supervisor: Activation, Registration, Size, Hash, Known; Joined, Left: changes of the zone, or with Whole all its members
	Registered                         // supervisor → delegate, the answer to Register: Registration; Activation (the highest number known, if the delegate that had it is not registered any more); Joined (all supervisors, unless the delegate's Known is their hash); Known; About with the flag Taken
	Unregister                         // delegate → supervisor: Registration; the sender is no delegate any more, or has another supervisor
	Alarm                              // delegate → supervisor → monitors: About, AboutVersion, Reporters: a member is suspected (MS-101, MS-A32)
	Query                              // member of the management zone → supervisor: Number; asks for the members of the zone (MS-99)
	Answer                             // supervisor → that member, the answer to Query: Number, Size (higher than the number of all nodes in Joined if the supervisor does not know exactly the members), Joined; with the flag Unknown the supervisor does not guard the zone
	// DispatchKinds is one more than the highest kind.
	DispatchKinds
)

var dispatchNames = [DispatchKinds]string{"?0?", "register", "registered", "unregister", "alarm", "query", "answer"}

// String returns the name of the kind.
func (k DispatchKind) String() string { return name(dispatchNames[:], int(k)) }

// MarshalText implements encoding.TextMarshaler.
func (k DispatchKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// DispatchFlags say more about a message of the hierarchy.
type DispatchFlags uint16

// The flags; the first is [Signed].
const (
	Whole     DispatchFlags = 2 << iota // in Register: Joined has all members of the zone
	Want                                // in Registered: the delegate must send all members
	Unknown                             // in Answer: no supervisor here guards the zone
	Continued                           // another message continues the list Joined
	Continues                           // this message continues the list of another one
	Taken                               // in Registered: another active delegate of a zone with this name takes precedence; About is that delegate
	NoRoom                              // in Registered: the supervisor has no room for the zone, or for one more delegate of it
	dispatchFlagsEnd
)

// Named is a node of another zone and a version of it.
type Named struct {
	ID      ID      `json:"id"`      // id of the node
	Version Version `json:"version"` // version of the node
}

// Dispatch is a message between zones: between the delegates of a base zone and the supervisors
// in the management zone. It names nodes by their ids, because sender and receiver have
// different tables. It must not be changed once it is sent.
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
// A signed Dispatch ends with an authentication code, as a [Message] does. Ids and versions have
// the same form as in a Message.
type Dispatch struct {
	Kind         DispatchKind  // decides which fields are used
	Flags        DispatchFlags // see DispatchFlags
	From         ID            // id of the sender
	Version      Version       // version of the sender
	Zone         string        // name of the base zone
	Activation   uint64        // number of the delegate's activation; the highest takes precedence
	Registration uint64        // number of the registration, one higher each time
	Hash         uint64        // hash of the base zone's view
	Known        uint64        // hash of the supervisors that the delegate knows
	Number       uint64        // number of a query; its answer has the same number
	Size         uint32        // number of members of the base zone
	Reporters    uint32        // number of members that suspect the member in the field About
	About        ID            // in Alarm the suspected member; in Registered with Taken the other delegate, which takes precedence
	AboutVersion Version       // version of the node in the field About
	Joined, Left []Named       // members that have joined, and members that have left, since the last registration
}

const (
	dispatchMagic = "HIER"
	dispatchFixed = 8 + memberOverhead + 1 + 5*8 + 2*4 + memberOverhead + 4 + 4
)

// DispatchSize returns how many bytes [Codec.AppendDispatch] appends.
func (c *Codec) DispatchSize(d *Dispatch) int {
	n := dispatchFixed + len(d.From.canonical) + len(d.Zone) + len(d.About.canonical)
	for _, list := range [][]Named{d.Joined, d.Left} {
		for i := range list {
			n += memberOverhead + len(list[i].ID.canonical)
		}
	}
	if c.Ring.On() {
		n += codeSize
	}
	return n
}

// DispatchRoom returns how many nodes fit a Dispatch of maxBytes bytes, even if all their names
// are of the maximum length.
func DispatchRoom(maxBytes int) int {
	return max(1, (maxBytes-dispatchFixed-codeSize-2*maxID-MaxZone)/(memberOverhead+maxID))
}

// AppendDispatch encodes a message of the hierarchy to a node, and appends it to b. If there is
// a key, the message is signed.
func (c *Codec) AppendDispatch(b []byte, d *Dispatch, to ID) []byte {
	if c.Ring.On() {
		d.Flags |= DispatchFlags(Signed)
	}
	begin := len(b)
	return c.sign(d.appendTo(b), begin, to.Short())
}

// IsDispatch reports whether a message is one of the hierarchy.
func IsDispatch(b []byte) bool { return len(b) >= 4 && string(b[:4]) == dispatchMagic }

// ParseDispatch parses a message of the hierarchy that is addressed to this node, and verifies
// its authentication code.
func (c *Codec) ParseDispatch(b []byte) (*Dispatch, error) {
	ok := len(b) < 8 || b[flagsAt]&byte(Signed) == 0
	if c.Ring.On() {
		b, ok = c.signed(b)
		ok = ok && len(b) >= 8
	}
	if !ok {
		return nil, ErrCode
	}
	return parseDispatch(b)
}

// ParseDispatch parses a message of the hierarchy for an observer. It verifies no
// authentication code.
func ParseDispatch(b []byte) (d *Dispatch, signed bool, err error) {
	if signed = len(b) >= 8+codeSize && b[flagsAt]&byte(Signed) != 0; signed {
		b = b[:len(b)-codeSize]
	}
	d, err = parseDispatch(b)
	return d, signed, err
}

// AppendTo appends an id and a version.
func (n Named) AppendTo(b []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, uint16(len(n.ID.canonical)))
	return appendVersion(n.ID.AppendCanonical(b), n.Version)
}

// appendTo appends the message, unsigned.
func (d *Dispatch) appendTo(b []byte) []byte {
	le := binary.LittleEndian
	b = append(b, dispatchMagic...)
	b = append(b, ProtocolVersion, byte(d.Kind))
	b = le.AppendUint16(b, uint16(d.Flags))
	b = Named{d.From, d.Version}.AppendTo(b)
	b = append(append(b, byte(len(d.Zone))), d.Zone...)
	for _, n := range []uint64{d.Activation, d.Registration, d.Hash, d.Known, d.Number} {
		b = le.AppendUint64(b, n)
	}
	b = le.AppendUint32(le.AppendUint32(b, d.Size), d.Reporters)
	b = Named{d.About, d.AboutVersion}.AppendTo(b)
	for _, list := range [][]Named{d.Joined, d.Left} {
		b = le.AppendUint32(b, uint32(len(list)))
		for i := range list {
			b = list[i].AppendTo(b)
		}
	}
	return b
}

// parseDispatch parses a message from which the authentication code was cut off.
func parseDispatch(b []byte) (*Dispatch, error) {
	switch {
	case len(b) < 8:
		return nil, ErrShort
	case string(b[:4]) != dispatchMagic:
		return nil, ErrMagic
	case b[4] != ProtocolVersion:
		return nil, ErrVersion
	}
	le := binary.LittleEndian
	d := &Dispatch{Kind: DispatchKind(b[5]), Flags: DispatchFlags(le.Uint16(b[6:])) &^ DispatchFlags(Signed)}
	if d.Kind == 0 || d.Kind >= DispatchKinds || d.Flags >= dispatchFlagsEnd {
		return nil, ErrKind
	}
	p := namedParser{b: b[8:]}
	from := p.named(false)
	d.From, d.Version = from.ID, from.Version
	d.Zone = string(p.take(int(p.take(1)[0])))
	for _, n := range []*uint64{&d.Activation, &d.Registration, &d.Hash, &d.Known, &d.Number} {
		*n = le.Uint64(p.take(8))
	}
	d.Size, d.Reporters = le.Uint32(p.take(4)), le.Uint32(p.take(4))
	about := p.named(d.Kind != Alarm && d.Flags&Taken == 0)
	d.About, d.AboutVersion = about.ID, about.Version
	for _, list := range []*[]Named{&d.Joined, &d.Left} {
		for n := le.Uint32(p.take(4)); n > 0 && p.err == nil; n-- {
			*list = append(*list, p.named(false))
		}
	}
	if p.err == nil && (len(p.b) > 0 || !ValidName([]byte(d.Zone)) || d.Zone == "" || len(d.Zone) > MaxZone) {
		p.err = errBody
	}
	if p.err != nil {
		return nil, p.err
	}
	return d, nil
}

// ParseNamed parses an id and a version.
func ParseNamed(b []byte) (n Named, rest []byte, err error) {
	p := namedParser{b: b}
	n = p.named(false)
	return n, p.b, p.err
}

// namedParser reads ids and versions. After an error it reads nothing more.
type namedParser struct {
	b   []byte
	err error
}

// take returns the next n bytes, at most 255; zeros after an error.
func (p *namedParser) take(n int) []byte {
	if p.err != nil || len(p.b) < n {
		if p.err == nil {
			p.err = ErrShort
		}
		return make([]byte, n)
	}
	b := p.b[:n]
	p.b = p.b[n:]
	return b
}

// named reads an id and a version; both may be missing if that is allowed.
func (p *namedParser) named(optional bool) (n Named) {
	size := int(binary.LittleEndian.Uint16(p.take(2)))
	if p.err == nil && (size > maxID || size > len(p.b)) {
		p.err = ErrShort
	}
	if p.err != nil {
		return n
	}
	id := p.b[:size]
	p.b = p.b[size:]
	v := p.take(versionLen)
	n.Version = Version{binary.LittleEndian.Uint64(v), binary.LittleEndian.Uint32(v[8:])}
	if p.err != nil || optional && size == 0 && n.Version == (Version{}) {
		return n
	}
	if n.ID, p.err = parseCanonical(id); p.err == nil && !n.Version.IsValid() {
		p.err = ErrInc
	}
	return n
}
