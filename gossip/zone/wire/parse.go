package wire

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Parse parses a message into m and its lists into l, which it empties first. It adds to Names
// the nodes whose ids the message has in full. It also adds the short forms of nodes that left
// or have attributes; all other nodes must be known.
func (c *Codec) Parse(b []byte, m *Message, l *Lists) error {
	le := binary.LittleEndian
	switch {
	case len(b) < HeaderSize:
		return ErrShort
	case string(b[:4]) != magic:
		return ErrMagic
	case b[4] != ProtocolVersion:
		return fmt.Errorf("%w: %d", ErrVersion, b[4])
	case le.Uint64(b[8:]) != c.Zone:
		return ErrZone
	}
	*m = Message{Kind: Kind(b[5]), Flags: Flags(le.Uint16(b[flagsAt:]))}
	if m.Kind == 0 || m.Kind >= Kinds || m.Flags >= flagsEnd {
		return fmt.Errorf("%w: kind %d, flags %#x", ErrKind, b[5], uint16(m.Flags))
	}
	b, err := c.verify(b, m.Flags)
	if err != nil {
		return err
	}
	l.reset()
	p := parser{Codec: c, b: b[24:], l: l}
	m.Version = p.version()
	if err := c.sender(b, &p, m); err != nil {
		return err
	}
	p.body(m)
	switch {
	case p.err == nil && len(p.b) > 0:
		p.err = errBody
	case p.err == nil && m.Kind.HasLists():
		m.Lists = l
	}
	return p.err
}

// verify verifies the authentication code at the end of a message, and returns the message
// without it. The error is [ErrCode] if the code is wrong or missing, or if there is one
// although this node has no key. The codec of an observer only cuts the code off.
func (c *Codec) verify(b []byte, flags Flags) ([]byte, error) {
	if c.observes && flags&Signed != 0 {
		return b[:max(len(b)-codeSize, HeaderSize)], nil
	}
	if c.Ring.On() != (flags&Signed != 0) {
		return nil, ErrCode
	}
	if !c.Ring.On() {
		return b, nil
	}
	b, ok := c.signed(b)
	if !ok || len(b) < HeaderSize {
		return nil, ErrCode
	}
	return b, nil
}

// sender sets the sender of a message; From stays 0 if the sender is not known.
func (c *Codec) sender(b []byte, p *parser, m *Message) error {
	short := binary.LittleEndian.Uint64(b[16:])
	m.From = c.Names.Find(short)
	if short == c.Names.Short(c.Self) && !c.observes {
		return ErrSender
	}
	switch m.Kind {
	case LinkRequest:
		m.Roles = p.roles()
	case DiscoveryRequest:
	default:
		return p.err
	}
	if m.From = p.id(); p.err == nil && c.Names.Short(m.From) != short {
		return ErrSender
	}
	return p.err
}

func (l *Lists) reset() {
	*l = Lists{
		Leaves: l.Leaves[:0], Alive: l.Alive[:0], Suspicions: l.Suspicions[:0], Silences: l.Silences[:0], Removed: l.Removed[:0],
		Tables: l.Tables[:0], Data: l.Data[:0],
	}
}

// parser reads the body of a message. After an error it reads nothing more.
type parser struct {
	*Codec
	b   []byte
	l   *Lists
	err error
}

var zeros [tableDataSize]byte

// take returns the next n bytes, at most len(zeros); it returns zeros after an error.
func (p *parser) take(n int) []byte {
	if p.err != nil || len(p.b) < n {
		p.fail(ErrShort)
		return zeros[:n]
	}
	b := p.b[:n]
	p.b = p.b[n:]
	return b
}

func (p *parser) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

func (p *parser) version() Version {
	b := p.take(versionLen)
	v := Version{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint32(b[8:])}
	if !v.IsValid() {
		p.fail(ErrInc)
	}
	return v
}

func (p *parser) roles() Roles {
	r := Roles(p.take(1)[0])
	if r >= rolesEnd {
		p.fail(ErrKind)
	}
	return r
}

// id reads an id in full and adds it to the table.
func (p *parser) id() Ref {
	n := int(binary.LittleEndian.Uint16(p.take(2)))
	if p.err != nil || n > maxID || n > len(p.b) {
		p.fail(ErrShort)
		return 0
	}
	b := p.b[:n]
	p.b = p.b[n:]
	r, err := p.add(b)
	if err != nil {
		p.fail(err)
	}
	return r
}

// add adds the node whose id has a canonical form. It checks and copies the form of a new node.
func (p *parser) add(canonical []byte) (Ref, error) {
	if r := p.Names.Find(shortOf(canonical)); p.Names.ID(r).canonical == string(canonical) && r != 0 {
		return r, nil
	}
	id, err := parseCanonical(canonical)
	if err != nil {
		return 0, err
	}
	return p.Names.Add(id)
}

// named reads a short form, and returns 0 if the node is not known.
func (p *parser) named() Ref {
	if p.observes {
		return p.placed()
	}
	return p.Names.Find(binary.LittleEndian.Uint64(p.take(8)))
}

// placed reads a short form and adds it to the table.
func (p *parser) placed() Ref {
	short := binary.LittleEndian.Uint64(p.take(8))
	if p.err != nil {
		return 0
	}
	r, err := p.Names.AddShort(short)
	if err != nil {
		p.fail(err)
	}
	return r
}

func (p *parser) body(m *Message) {
	switch {
	case m.Kind == Heartbeat:
		m.Hash = binary.LittleEndian.Uint64(p.take(8))
		m.Tables = binary.LittleEndian.Uint64(p.take(8))
	case m.Kind == LinkAccept:
		m.Roles = p.roles()
	case m.Kind == LinkRefuse || m.Kind == LinkDrop:
		p.refusal(m)
	case m.Kind.HasMembers():
		p.lists()
	case m.Kind.tables():
		p.tables()
	case m.Kind == AttributeData:
		p.data()
	}
}

func (p *parser) refusal(m *Message) {
	m.Reason = Reason(p.take(1)[0])
	switch {
	case m.Reason == noReason || m.Reason >= reasons:
		p.fail(ErrKind)
	case m.Reason == Removed:
		m.About, m.AboutVersion = p.Self, p.version()
	case m.Reason == Redirect:
		m.About = p.id()
		m.AboutVersion = p.version()
	}
}

func (p *parser) lists() {
	var n [4]int
	for i := range n {
		n[i] = int(binary.LittleEndian.Uint32(p.take(4)))
	}
	for ; n[listLeaves] > 0 && p.err == nil; n[listLeaves]-- {
		d := Departure{Node: p.placed(), Version: p.version()}
		d.Code = int32(binary.LittleEndian.Uint32(p.take(4)))
		p.l.Leaves = append(p.l.Leaves, d)
	}
	for ; n[listAlive] > 0 && p.err == nil; n[listAlive]-- {
		p.l.Alive = append(p.l.Alive, Member{p.id(), p.version()})
	}
	p.suspicions(n[listSuspicions])
	for ; n[listRemoved] > 0 && p.err == nil; n[listRemoved]-- {
		if r := (Member{p.named(), p.version()}); r.Node != 0 {
			p.l.Removed = append(p.l.Removed, r)
		}
	}
}

// suspicions parses n suspicions. Some may be reports of silence: see noReporter.
func (p *parser) suspicions(n int) {
	into := &p.l.Suspicions
	for ; n > 0 && p.err == nil; n-- {
		if len(p.b) >= suspicionSize && binary.LittleEndian.Uint64(p.b) == noReporter {
			p.take(16)
			p.version()
			into = &p.l.Silences
			continue
		}
		s := Suspicion{p.named(), p.named(), p.version()}
		if s.Reporter != 0 && s.Suspect != 0 { // skip suspicions of unknown nodes, which would be ignored anyway
			*into = append(*into, s)
		}
	}
}

func (p *parser) tables() {
	n := int(binary.LittleEndian.Uint32(p.take(4)))
	for ; n > 0 && p.err == nil; n-- {
		v := TableVersion{Owner: p.placed()}
		b := p.take(16)
		v.Inc, v.U = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		p.l.Tables = append(p.l.Tables, v)
	}
}

func (p *parser) data() {
	n := int(binary.LittleEndian.Uint32(p.take(4)))
	for ; n > 0 && p.err == nil; n-- {
		d := TableData{Owner: p.named()}
		le, b := binary.LittleEndian, p.take(tableDataSize-8)
		d.Inc, d.From, d.To = le.Uint64(b), le.Uint64(b[8:]), le.Uint64(b[16:])
		entries := le.Uint32(b[24:])
		d.Last = entries&lastBit != 0
		before := d.From
		for entries &^= lastBit; entries > 0 && p.err == nil; entries-- {
			a := p.attribute()
			if a.U <= before || a.U > d.To {
				p.fail(errBody)
			}
			before = a.U
			d.Entries = append(d.Entries, a)
		}
		p.l.Data = append(p.l.Data, d)
	}
}

func (p *parser) attribute() Attribute {
	b := p.take(attributeOverhead)
	key, value := int(b[8]), int(binary.LittleEndian.Uint32(b[10:]))
	a := Attribute{U: binary.LittleEndian.Uint64(b), Deleted: b[9] == 1}
	switch {
	case p.err != nil:
		return a
	case key == 0, b[9] > 1, a.Deleted && value > 0, value > MaxTable:
		p.fail(errBody)
		return a
	case key+value > len(p.b):
		p.fail(ErrShort)
		return a
	}
	a.Key = string(p.b[:key])
	if !a.Deleted {
		a.Value = slices.Clone(p.b[key : key+value])
	}
	p.b = p.b[key+value:]
	return a
}
