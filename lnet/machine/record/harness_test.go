package record_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/machine/record"
)

// relay answers each input with a send, and probes when it has got no input for a while. It
// is like other machines: its sends refer to a buffer of the output.
type relay struct {
	salt byte
	sum  uint64
	fail func(sum uint64) // called with the sum in each step; may be nil
}

type input []byte

type output struct {
	sends []span
	bytes []byte
}

type span struct{ from, to int }

func (o *output) Reset() { o.sends, o.bytes = o.sends[:0], o.bytes[:0] }

func (m *relay) Step(now time.Duration, in input, out *output) time.Duration {
	for _, c := range in {
		m.sum = m.sum*31 + uint64(c)
	}
	m.sum++
	if m.fail != nil {
		m.fail(m.sum)
	}
	if m.sum%3 == 0 {
		return machine.Never // some steps end without output
	}
	at := len(out.bytes)
	out.bytes = binary.LittleEndian.AppendUint64(append(out.bytes, m.salt), m.sum)
	out.bytes = append(out.bytes, in...)
	out.sends = append(out.sends, span{at, len(out.bytes)})
	return now + time.Duration(1+m.sum%1000)*time.Millisecond
}

type codec struct{}

var errInput = errors.New("bad input")

func (codec) AppendIn(b []byte, in input) []byte { return append(b, in...) }

func (codec) ParseIn(b []byte) (input, error) {
	if bytes.HasPrefix(b, []byte("bad")) {
		return nil, errInput
	}
	return b, nil
}

func (codec) AppendOut(b []byte, out *output) []byte {
	for _, s := range out.sends {
		b = append(b, out.bytes[s.from:s.to]...)
	}
	return b
}

const salt = 7

// boot makes the machines of a recording. The state that an incarnation keeps for the next one is its sum.
func boot(b record.Boot) (machine.Machine[input, output], error) {
	m := &relay{salt: b.Config[0]}
	if len(b.Kept) == 8 {
		m.sum = binary.LittleEndian.Uint64(b.Kept)
	}
	return m, nil
}

// recordRun records steps of some machines, one of which has a second incarnation during the
// run. It returns the recording and its digest.
func recordRun(t testing.TB, mode record.Mode, machines, steps int) ([]byte, uint64) {
	t.Helper()
	var file bytes.Buffer
	rec := record.New(&file, codec{}, mode, []byte{salt})
	rnd := rand.New(rand.NewPCG(1, 2))
	relays, stepped := make([]*relay, machines), make([]machine.Machine[input, output], machines)
	for i := range relays {
		relays[i] = &relay{salt: salt}
		stepped[i] = rec.Boot(uint64(i), 0, nil, relays[i])
	}
	var now time.Duration
	var out output
	for n := range steps {
		if n == steps/2 {
			kept := binary.LittleEndian.AppendUint64(nil, relays[0].sum)
			relays[0] = &relay{salt: salt, sum: relays[0].sum}
			stepped[0] = rec.Boot(0, 1, kept, relays[0])
		}
		out.Reset()
		now += time.Duration(rnd.IntN(1000)) * time.Microsecond
		in := make(input, rnd.IntN(200)*rnd.IntN(2))
		for i := range in {
			in[i] = byte(rnd.Uint32())
		}
		stepped[rnd.IntN(machines)].Step(now, in, &out)
	}
	digest, err := rec.Close()
	if err != nil {
		t.Fatal(err)
	}
	return file.Bytes(), digest
}

func replay(b []byte) (record.Result, error) { return record.Replay(bytes.NewReader(b), codec{}, boot) }
