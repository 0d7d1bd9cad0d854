package rmcastsim

import (
	"errors"
	"slices"
)

// codec is the form of messages in a recording: the kind, then the data.
type codec struct{}

var errMessage = errors.New("rmcastsim: no message of a recording")

func (codec) Append(b []byte, m *message) []byte {
	if m == nil {
		return b
	}
	return append(append(b, byte(m.kind)), m.data...)
}

func (codec) Parse(b []byte) (*message, error) {
	if len(b) == 0 || b[0] > byte(Order) {
		return nil, errMessage
	}
	return &message{Kind(b[0]), slices.Clone(b[1:])}, nil
}
