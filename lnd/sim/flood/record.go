package flood

import (
	"encoding/binary"
	"errors"
	"io"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
)

// replay steps the machines of a recorded run without a network.
func replay(s *scenario.Setup, r io.Reader) (sim.Replayed, error) {
	in, shared := prepare(s)
	return sim.Replay(r, codec{}, hash, func([]byte) (func(sim.Life, sim.Program[rumours]) sim.Program[rumours], error) {
		return in.boot(shared), nil
	})
}

// Close ends the recording of a run.
func (in *instance) Close() error {
	if in.record == nil {
		return nil
	}
	return in.record.Close()
}

func hash(m *rumours) uint64 { return uint64(*m) }

// codec is the form of messages in a recording.
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
