package wire

import "encoding/binary"

// AppendParts encodes a message with lists and appends it to b: as several messages if it has
// more than MaxBytes. to is the short form of the receiver's id. AppendParts calls part with
// the beginning and end of each such message in the slice that it returns. Receivers process
// each message as soon as it arrives, without waiting for the rest.
func (c *Codec) AppendParts(b []byte, m *Message, to uint64, part func(begin, end int)) []byte {
	e := encoder{Codec: c, m: m, to: to, b: b, emit: part}
	e.encode()
	return e.b
}

// An encoder divides the lists of one message into parts.
type encoder struct {
	*Codec
	m     *Message
	to    uint64 // short form of the receiver
	b     []byte
	begin int // offset of the message that is being built
	count [4]uint32
	// silences is true when the mark of Lists.Silences has been written to the message that is
	// being built: all suspicions after it are about nodes that were only silent.
	silences bool
	emit     func(begin, end int) // called for each finished message, with its part of b
}

// The lists, in the order in which they stand in a message.
const (
	listLeaves = iota
	listAlive
	listSuspicions
	listRemoved
)

// open begins a message.
func (e *encoder) open() {
	e.begin, e.silences = len(e.b), false
	e.b = e.appendHeader(e.b, e.m)
	if e.m.Kind.HasMembers() {
		e.count = [4]uint32{}
		e.b = append(e.b, make([]byte, countsSize)...)
	} else {
		e.count[0] = 0
		e.b = append(e.b, 0, 0, 0, 0)
	}
}

// close ends a message. The parameter more is true if another message continues it.
func (e *encoder) close(more bool) {
	le := binary.LittleEndian
	if more {
		e.flag(More)
	}
	n := 1
	if e.m.Kind.HasMembers() {
		n = len(e.count)
	}
	for i := range n {
		le.PutUint32(e.b[e.begin+HeaderSize+4*i:], e.count[i])
	}
	e.b = e.sign(e.b, e.begin, e.to)
	e.emit(e.begin, len(e.b))
}

// room makes sure that n more bytes fit the message: if they do not, it begins a new one.
func (e *encoder) room(n int) {
	if len(e.b)-e.begin+n+codeSize <= e.MaxBytes || e.empty() {
		return
	}
	e.close(true)
	e.open()
	e.flag(Later)
}

// flag sets a flag of the message that is being built.
func (e *encoder) flag(f Flags) {
	flags := e.b[e.begin+flagsAt:]
	binary.LittleEndian.PutUint16(flags, binary.LittleEndian.Uint16(flags)|uint16(f))
}

func (e *encoder) empty() bool { return e.count == [4]uint32{} }

// encode builds the messages.
func (e *encoder) encode() {
	e.open()
	switch l := e.m.Lists; {
	case l == nil:
	case e.m.Kind.tables():
		for i := range l.Tables {
			e.tableVersion(&l.Tables[i])
		}
	case e.m.Kind == AttributeData:
		for i := range l.Data {
			e.tableData(&l.Data[i])
		}
	default:
		e.members(l)
	}
	e.close(false)
}

func (e *encoder) members(l *Lists) {
	le := binary.LittleEndian
	for i := range l.Leaves {
		d := &l.Leaves[i]
		e.room(departureSize)
		e.b = appendVersion(le.AppendUint64(e.b, e.Names.Short(d.Node)), d.Version)
		e.b = le.AppendUint32(e.b, uint32(d.Code))
		e.count[listLeaves]++
	}
	for i := range l.Alive {
		e.alive(l.Alive[i].Node, l.Alive[i].Version)
	}
	if l.View != nil {
		l.View.Each(false, e.alive)
	}
	for i := range l.Suspicions {
		s := &l.Suspicions[i]
		e.room(suspicionSize)
		e.suspicion(e.Names.Short(s.Reporter), e.Names.Short(s.Suspect), s.Version)
	}
	for i := range l.Silences {
		s := &l.Silences[i]
		if e.room(2 * suspicionSize); !e.silences {
			e.silences = true
			e.suspicion(noReporter, 0, silenceMark)
		}
		e.suspicion(e.Names.Short(s.Reporter), e.Names.Short(s.Suspect), s.Version)
	}
	for i := range l.Removed {
		e.removed(l.Removed[i].Node, l.Removed[i].Version)
	}
	if l.View != nil && e.m.Flags&Repair != 0 {
		l.View.Each(true, e.removed)
	}
}

// noReporter and silenceMark make a suspicion that marks the suspicions after it as reports of
// silence. Nodes that do not know the mark take it for a suspicion by an unknown node, which
// they ignore.
const noReporter = 0

var silenceMark = Version{1, 1}

func (e *encoder) suspicion(reporter, suspect uint64, v Version) {
	le := binary.LittleEndian
	e.b = appendVersion(le.AppendUint64(le.AppendUint64(e.b, reporter), suspect), v)
	e.count[listSuspicions]++
}

func (e *encoder) alive(r Ref, v Version) {
	id := e.Names.ID(r)
	if !id.IsValid() {
		return // a node that left before it was in the view has no known id, so it cannot be encoded
	}
	e.room(memberOverhead + len(id.canonical))
	e.b = appendVersion(e.appendID(e.b, r), v)
	e.count[listAlive]++
}

func (e *encoder) removed(r Ref, v Version) {
	e.room(removedSize)
	e.b = appendVersion(binary.LittleEndian.AppendUint64(e.b, e.Names.Short(r)), v)
	e.count[listRemoved]++
}

func (e *encoder) tableVersion(v *TableVersion) {
	le := binary.LittleEndian
	e.room(tableVerSize)
	e.b = le.AppendUint64(le.AppendUint64(le.AppendUint64(e.b, e.Names.Short(v.Owner)), v.Inc), v.U)
	e.count[0]++
}

// tableData appends entries of a table, which always fit one message: see TableRoom.
func (e *encoder) tableData(d *TableData) {
	le := binary.LittleEndian
	e.room(dataSize(d))
	e.b = le.AppendUint64(le.AppendUint64(e.b, e.Names.Short(d.Owner)), d.Inc)
	e.b = le.AppendUint64(le.AppendUint64(e.b, d.From), d.To)
	n := uint32(len(d.Entries))
	if d.Last {
		n |= lastBit
	}
	e.b = le.AppendUint32(e.b, n)
	for i := range d.Entries {
		a := &d.Entries[i]
		e.b = le.AppendUint64(e.b, a.U)
		e.b = append(e.b, byte(len(a.Key)), boolByte(a.Deleted))
		e.b = le.AppendUint32(e.b, uint32(len(a.Value)))
		e.b = append(append(e.b, a.Key...), a.Value...)
	}
	e.count[0]++
}

// lastBit is the highest bit of the field with the number of entries. It is set in the message
// with the last of the requested entries.
const lastBit = 1 << 31

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}
