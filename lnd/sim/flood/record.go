package flood

import (
	"encoding/binary"
	"errors"
)

func hash(m *rumours) uint64 { return uint64(*m) }

// codec is the format of messages in a recording.
type codec struct{}

func (codec) Append(b []byte, r rumours) []byte {
	return binary.LittleEndian.AppendUint64(b, uint64(r))
}

func (codec) Parse(b []byte) (rumours, error) {
	if len(b) != 8 {
		return 0, errors.New("flood: a message has 8 bytes")
	}
	return rumours(binary.LittleEndian.Uint64(b)), nil
}
