package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"ulnet/lnet/machine"
)

// errCorrupt is the error of [Replay] for input that was not written by a [Recorder].
var errCorrupt = errors.New("corrupt recording, or none")

// Boot is what a machine begins an incarnation with. The slices are valid during the call.
type Boot struct {
	Config          []byte // Config of the recording
	ID, Incarnation uint64 // number of the machine and of its incarnation
	Kept            []byte // state that the machine keeps from its last incarnation
}

// Result says how much was replayed.
type Result struct {
	Steps     uint64 // number of steps of all machines
	Digest    uint64 // digest of the steps; at the end of a recording it equals the result of Recorder.Close
	Truncated bool   // the recording has no end: the steps after the last Flush are missing
}

// DiffError says that a machine did not answer as recorded.
type DiffError struct {
	Step            uint64        // number of the step in the recording, from 1
	ID, Incarnation uint64        // number of the machine and of its incarnation
	Now             time.Duration // time of the step
	Panicked        bool          // the recorded step panicked, but this one did not
	Wake, WantWake  time.Duration // wake that the step returned, and the recorded one
	Out, WantOut    []byte        // encoded outputs of the step and of the recording, or digests
	At              int           // index of the first byte of Out that differs
}

func (e *DiffError) Error() string {
	what := fmt.Sprintf("output from byte %d is %.32x, recorded %.32x", e.At, e.Out[e.At:], e.WantOut[e.At:])
	if e.Panicked {
		what = "no panic, unlike recorded"
	} else if e.Wake != e.WantWake {
		what = fmt.Sprintf("wake is %v, recorded %v", e.Wake, e.WantWake)
	}
	return fmt.Sprintf("step %d at %v of machine %d in incarnation %d: %s", e.Step, e.Now, e.ID, e.Incarnation, what)
}

// Replay makes machines with boot and steps them on the inputs of a recording, until the end,
// or until a machine's output differs from the recorded one, which is a [*DiffError]. Where a
// recorded step panicked, the replayed step is expected to panic too, and Replay does not
// recover from that. Result.Steps tells where an error is. A recording may come from any
// source. The machines must therefore be prepared for any input; only the instants never
// decrease. Replay reads nothing beyond the recording's end.
func Replay[In, Out any](r io.Reader, codec Codec[In, Out], boot func(Boot) (machine.Machine[In, Out], error)) (Result, error) {
	p := replayer[In, Out]{r: r, codec: codec, boot: boot, incarnations: make(map[uint64]*incarnation[In, Out])}
	err := p.run()
	return p.res, err
}

type replayer[In, Out any] struct {
	r            io.Reader
	codec        Codec[In, Out]
	boot         func(Boot) (machine.Machine[In, Out], error)
	mode         Mode
	config       []byte
	block        bytes.Buffer
	b            []byte // rest of block that is not parsed yet
	bad          bool   // b contains bytes that could not be parsed
	incarnations map[uint64]*incarnation[In, Out]
	now          time.Duration
	out          Out
	form         []byte // memory for an encoded output
	res          Result
}

type incarnation[In, Out any] struct {
	m      machine.Machine[In, Out]
	number uint64
	now    time.Duration // time of the incarnation's last step
}

func (p *replayer[In, Out]) run() error {
	if err := p.read(); err != nil {
		return err
	}
	if len(p.b) == 0 || Mode(p.b[0]) > Digests {
		return errCorrupt
	}
	p.mode, p.config, p.b = Mode(p.b[0]), bytes.Clone(p.b[1:]), nil
	for {
		for len(p.b) == 0 {
			if err := p.read(); err != nil || p.res.Truncated {
				return err
			}
		}
		id, err := p.uvarint(), error(nil)
		switch id {
		case 0:
			p.bad = p.uvarint() != p.res.Steps || len(p.b) > 0 || p.bad
		case 1:
			err = p.begin()
		default:
			err = p.step(id - 2)
		}
		if p.bad {
			return errCorrupt
		}
		if err != nil || id == 0 {
			return err
		}
	}
}

// read reads a block. Its memory grows with the bytes that it finds, not with the length that
// the block states.
func (p *replayer[In, Out]) read() error {
	var head [frameSize]byte
	_, err := io.ReadFull(p.r, head[:])
	if size := binary.LittleEndian.Uint32(head[4:]); err == nil {
		if string(head[:4]) != magic || size > maxBlock {
			return errCorrupt
		}
		p.block.Reset()
		_, err = io.CopyN(&p.block, p.r, int64(size))
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		p.res.Truncated = true
		return nil
	} else if err != nil {
		return err
	}
	p.b = p.block.Bytes()
	if p.res.Digest = digest(p.res.Digest, p.b); p.res.Digest != binary.LittleEndian.Uint64(head[8:]) {
		return errCorrupt
	}
	return nil
}

func (p *replayer[In, Out]) begin() error {
	boot := Boot{Config: p.config, ID: p.uvarint(), Incarnation: p.uvarint(), Kept: p.bytes()}
	if p.bad {
		return nil
	}
	m, err := p.boot(boot)
	if err != nil {
		return fmt.Errorf("boot machine %d incarnation %d: %w", boot.ID, boot.Incarnation, err)
	}
	p.incarnations[boot.ID] = &incarnation[In, Out]{m, boot.Incarnation, math.MinInt64}
	return nil
}

func (p *replayer[In, Out]) step(id uint64) error {
	l := p.incarnations[id]
	delta := p.uvarint()
	p.now += time.Duration(delta>>1) ^ -time.Duration(delta&1) // the sign is encoded as in binary.Varint
	form := p.bytes()
	panicked := len(p.b) == 0
	var code uint64
	var want []byte
	if !panicked {
		code, want = p.uvarint(), p.bytes()
	}
	if p.bad = p.bad || l == nil || p.now < l.now; p.bad {
		return nil
	}
	in, err := p.codec.ParseIn(form)
	if err != nil {
		return fmt.Errorf("input of step %d: %w", p.res.Steps+1, err)
	}
	machine.Reset(&p.out)
	p.res.Steps++
	l.now = p.now
	wake := l.m.Step(p.now, in, &p.out)
	p.form = appendForm(p.form[:0], p.codec, p.mode, &p.out)
	if !panicked && wakeCode(p.now, wake) == code && bytes.Equal(p.form, want) {
		return nil
	}
	return p.differ(id, l.number, panicked, wake, code, want)
}

// differ returns an error that describes the difference.
func (p *replayer[In, Out]) differ(id, incarnation uint64, panicked bool, wake time.Duration, code uint64, want []byte) error {
	e := &DiffError{
		Step: p.res.Steps, ID: id, Incarnation: incarnation, Now: p.now, Panicked: panicked,
		Wake: wake, WantWake: machine.Never, Out: bytes.Clone(p.form), WantOut: bytes.Clone(want),
	}
	if code != 0 {
		e.WantWake = p.now + time.Duration(code-1)
	}
	for e.At < min(len(e.Out), len(want)) && e.Out[e.At] == want[e.At] {
		e.At++
	}
	return e
}

func (p *replayer[In, Out]) uvarint() uint64 {
	v, n := binary.Uvarint(p.b)
	p.bad = p.bad || n <= 0
	p.b = p.b[max(n, 0):]
	return v
}

func (p *replayer[In, Out]) bytes() []byte {
	n := p.uvarint()
	if p.bad = p.bad || n > uint64(len(p.b)); p.bad {
		return nil
	}
	b := p.b[:n:n]
	p.b = p.b[n:]
	return b
}
