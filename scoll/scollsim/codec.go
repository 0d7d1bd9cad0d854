package scollsim

import (
	"encoding/binary"
	"errors"

	"ulnet/scoll/engine"
)

// codec encodes messages for a recording, little-endian: kind, 1 for a list, match bits,
// offset, length, request and incarnation, then three byte strings, each as its length and its
// bytes.
type codec struct{}

// fixedSize is the length of the fields before the data.
const fixedSize = 2 + 5*8

var errMessage = errors.New("scollsim: no message of a recording")

func (codec) Append(b []byte, m *message) []byte {
	if m == nil {
		return b
	}
	list := byte(0)
	if m.list {
		list = 1
	}
	b = append(b, byte(m.kind), list)
	for _, v := range []uint64{m.bits, m.offset, m.length, uint64(m.id), m.incarnation} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	for _, data := range [][]byte{m.data, m.trailer, m.payload} {
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(data))), data...)
	}
	return b
}

func (codec) Parse(b []byte) (*message, error) {
	if len(b) < fixedSize || b[0] > byte(Data) || b[1] > 1 {
		return nil, errMessage
	}
	le := binary.LittleEndian
	m := &message{
		kind: Kind(b[0]), list: b[1] == 1, bits: le.Uint64(b[2:]), offset: le.Uint64(b[10:]), length: le.Uint64(b[18:]),
		id: engine.RequestID(le.Uint64(b[26:])), incarnation: le.Uint64(b[34:]),
	}
	b = b[fixedSize:]
	for _, data := range []*[]byte{&m.data, &m.trailer, &m.payload} {
		if len(b) < 4 || uint64(len(b)-4) < uint64(le.Uint32(b)) {
			return nil, errMessage
		}
		size := int(le.Uint32(b))
		*data, b = append([]byte(nil), b[4:4+size]...), b[4+size:]
	}
	if len(b) > 0 {
		return nil, errMessage
	}
	return m, nil
}
