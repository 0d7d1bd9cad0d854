package engine

import "encoding/binary"

func appendNamed(b []byte, n Named) []byte {
	b = binary.LittleEndian.AppendUint16(b, uint16(len(n.ID.canonical)))
	return appendVersion(n.ID.AppendCanonical(b), n.Version)
}

// AppendTo appends the message, unsigned.
func (d *Dispatch) AppendTo(b []byte) []byte {
	le := binary.LittleEndian
	b = append(b, dispatchMagic...)
	b = append(b, ProtocolVersion, byte(d.Kind))
	b = le.AppendUint16(b, uint16(d.Flags))
	b = appendNamed(b, Named{d.From, d.Version})
	b = append(append(b, byte(len(d.Zone))), d.Zone...)
	for _, n := range []uint64{d.Activation, d.Registration, d.Hash, d.Known, d.Number} {
		b = le.AppendUint64(b, n)
	}
	b = le.AppendUint32(le.AppendUint32(b, d.Size), d.Reporters)
	b = appendNamed(b, Named{d.About, d.AboutVersion})
	for _, list := range [][]Named{d.Joined, d.Left} {
		b = le.AppendUint32(b, uint32(len(list)))
		for i := range list {
			b = appendNamed(b, list[i])
		}
	}
	return b
}

// parseDispatch parses a message without a code.
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
	if d.Kind == 0 || d.Kind >= dispatchKinds || d.Flags >= dispatchFlagsEnd {
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
	if p.err == nil && (len(p.b) > 0 || !validName([]byte(d.Zone)) || d.Zone == "" || len(d.Zone) > maxZone) {
		p.err = errBody
	}
	if p.err != nil {
		return nil, p.err
	}
	return d, nil
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
	if n.ID, p.err = idFrom(id); p.err == nil && !n.Version.IsValid() {
		p.err = ErrInc
	}
	return n
}
