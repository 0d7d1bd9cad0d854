package ibta

import (
	"encoding/binary"
	"fmt"
)

// Sizes in bytes of a CM message and of its parts.
const (
	MADSize       = 256
	MADHeaderSize = 24
	MADBodySize   = MADSize - MADHeaderSize
)

// Attribute is the type of a CM message.
type Attribute uint16

// The CM messages. SIDR, LAP and APR are known by name only.
const (
	AttrREQ     Attribute = 0x10
	AttrMRA     Attribute = 0x11
	AttrREJ     Attribute = 0x12
	AttrREP     Attribute = 0x13
	AttrRTU     Attribute = 0x14
	AttrDREQ    Attribute = 0x15
	AttrDREP    Attribute = 0x16
	AttrSIDRREQ Attribute = 0x17
	AttrAPR     Attribute = 0x1A
)

var attributeNames = [...]string{"REQ", "MRA", "REJ", "REP", "RTU", "DREQ", "DREP", "SIDR_REQ", "SIDR_REP", "LAP", "APR"}

// IsKnown reports whether this package can parse messages of kind a.
func (a Attribute) IsKnown() bool { return a >= AttrREQ && a <= AttrDREP }

// String returns, for example, "REQ", "DREP" or "attribute 0x2".
func (a Attribute) String() string {
	if a >= AttrREQ && int(a-AttrREQ) < len(attributeNames) {
		return attributeNames[a-AttrREQ]
	}
	return fmt.Sprintf("attribute %#x", uint16(a))
}

// The values that the header of every CM message has.
const (
	baseVersion  = 1
	classCM      = 7
	classVersion = 2
	methodSend   = 3
)

// MAD is the management datagram header of CM messages.
type MAD struct {
	Status        uint16 // 0 in CM messages
	ClassSpecific uint16 // 0 in CM messages
	// TransactionID is chosen by the sender of a REQ or DREQ; MRA, REP, REJ,
	// RTU and DREP of that exchange repeat it.
	TransactionID uint64
	Attribute     Attribute // type of the CM message
	Modifier      uint32    // 0 in CM messages
}

// ParseMAD parses a management datagram and returns its attribute, which ParseCM parses. The errors
// are ErrShort, ErrMAD for another class, version or method, and ErrAttribute, with which the MAD is
// valid. Bytes behind the 256 are ignored.
func ParseMAD(b []byte) (m MAD, body *[MADBodySize]byte, err error) {
	if len(b) < MADSize {
		return MAD{}, nil, ErrShort
	}
	if b[0] != baseVersion || b[1] != classCM || b[2] != classVersion || b[3] != methodSend {
		return MAD{}, nil, ErrMAD
	}
	m.Status = binary.BigEndian.Uint16(b[4:])
	m.ClassSpecific = binary.BigEndian.Uint16(b[6:])
	m.TransactionID = binary.BigEndian.Uint64(b[8:])
	m.Attribute = Attribute(binary.BigEndian.Uint16(b[16:]))
	m.Modifier = binary.BigEndian.Uint32(b[20:])
	if !m.Attribute.IsKnown() {
		return m, nil, ErrAttribute
	}
	return m, (*[MADBodySize]byte)(b[MADHeaderSize:]), nil
}

// AppendTo appends the header. The caller appends the attribute, which its own
// AppendTo makes 232 bytes long.
func (m MAD) AppendTo(b []byte) []byte {
	b = append(b, baseVersion, classCM, classVersion, methodSend)
	b = binary.BigEndian.AppendUint16(b, m.Status)
	b = binary.BigEndian.AppendUint16(b, m.ClassSpecific)
	b = binary.BigEndian.AppendUint64(b, m.TransactionID)
	b = binary.BigEndian.AppendUint16(b, uint16(m.Attribute))
	b = append(b, 0, 0)
	return binary.BigEndian.AppendUint32(b, m.Modifier)
}

// appendZeros appends n zero bytes.
func appendZeros(b []byte, n int) []byte {
	for ; n > 0; n-- {
		b = append(b, 0)
	}
	return b
}

// appendPrivate appends private data in a field of size bytes. It cuts data that is too long.
func appendPrivate(b, private []byte, size int) []byte {
	n := min(len(private), size)
	return appendZeros(append(b, private[:n]...), size-n)
}
