package scollsim

import (
	"encoding/binary"
	"errors"
)

// codec encodes messages for a recording, little-endian: the fields, then three byte strings,
// each as its length and its bytes.
type codec struct{}

var errMessage = errors.New("scollsim: no message of a recording")

func (codec) Append(b []byte, m *message) []byte {
	if m == nil {
		return b
	}
	b, _ = binary.Append(b, binary.LittleEndian, &m.fields)
	for _, data := range [][]byte{m.data, m.trailer, m.payload} {
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(data))), data...)
	}
	return b
}

func (codec) Parse(b []byte) (*message, error) {
	m := new(message)
	n, err := binary.Decode(b, binary.LittleEndian, &m.fields)
	if err != nil || m.Kind > Data || b[1] > 1 {
		return nil, errMessage
	}
	b = b[n:]
	for _, data := range []*[]byte{&m.data, &m.trailer, &m.payload} {
		if len(b) < 4 || uint64(len(b)-4) < uint64(binary.LittleEndian.Uint32(b)) {
			return nil, errMessage
		}
		end := 4 + int(binary.LittleEndian.Uint32(b))
		*data, b = append([]byte(nil), b[4:end]...), b[end:]
	}
	if len(b) > 0 {
		return nil, errMessage
	}
	return m, nil
}
