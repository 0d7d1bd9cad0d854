package engine

import (
	"encoding/binary"
	"fmt"
)

// Seen is a message within a zone as an observer sees it, who is in none.
type Seen struct {
	Message        // refs are those of Name
	Zone    uint64 // see zoneNumber
	Sender  uint64 // the short form of its id
	table   *Table
}

// maxSeen is more than a message can name nodes.
const maxSeen = maxPayload / suspicionSize * 2

// ParseMessage parses a message. With [ErrShort], [ErrMagic] and [ErrVersion] of the
// header there is none; with other errors its header is valid all the same. Codes are
// not checked.
func ParseMessage(b []byte) (*Seen, error) {
	if len(b) < HeaderSize {
		return nil, ErrShort
	}
	le := binary.LittleEndian
	s := &Seen{Zone: le.Uint64(b[8:]), Sender: le.Uint64(b[16:]), table: NewTable(maxSeen)}
	c := codec{table: s.table, zone: s.Zone, most: maxPayload, observes: true}
	err := c.parse(b, &s.Message, new(Lists))
	if s.Kind == 0 {
		return nil, err
	}
	return s, err
}

// Name returns the name of a node, or its short form if the message does not say more.
func (s *Seen) Name(r Ref) string {
	if id := s.table.ID(r); id.IsValid() {
		return id.Name()
	}
	if int(r) < len(s.table.ids) {
		return ShortName(s.table.ids[r].short)
	}
	return "?"
}

// ID returns the id of a node, the invalid one if the message does not say it.
func (s *Seen) ID(r Ref) ID { return s.table.ID(r) }

// IDs returns the ids that the message says.
func (s *Seen) IDs() (list []ID) {
	for i := range s.table.ids {
		if id := s.table.ids[i].id; id.IsValid() {
			list = append(list, id)
		}
	}
	return list
}

// Short returns the short form of a node, 0 of none.
func (s *Seen) Short(r Ref) uint64 {
	if int(r) >= len(s.table.ids) {
		return 0
	}
	return s.table.ids[r].short
}

// Short returns the short form of an id, by which most messages name it.
func (id ID) Short() uint64 { return id.Position().short() }

// ShortName is the text of a short form.
func ShortName(short uint64) string { return fmt.Sprintf("#%016x", short) }

// IsDispatch reports whether a message is one of the hierarchy, see [Dispatch].
func IsDispatch(b []byte) bool { return len(b) >= 4 && string(b[:4]) == dispatchMagic }

// ParseSignedDispatch is [parseDispatch] for a message that may have a code, which is
// not checked.
func ParseSignedDispatch(b []byte) (d *Dispatch, signed bool, err error) {
	if signed = len(b) >= 8+codeSize && b[flagsAt]&byte(Signed) != 0; signed {
		b = b[:len(b)-codeSize]
	}
	d, err = parseDispatch(b)
	return d, signed, err
}
