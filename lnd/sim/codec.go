package sim

import (
	"encoding/binary"
	"errors"
	"math"
	"time"
)

// Codec encodes and decodes messages in binary form.
type Codec[M any] interface {
	// Append appends the encoded m to b.
	Append(b []byte, m M) []byte
	// Parse reverses Append. b may hold anything; the message may refer to it,
	// and is then valid during the step only.
	Parse(b []byte) (M, error)
}

// turn is the input of one step of a node, as recorded.
type turn[M any] struct {
	index int32         // index of the node; see Recorder
	skew  time.Duration // how far the node's clock is ahead of virtual time
	Input[M]
}

// answer is the output and wake of a step.
type answer[M any] struct {
	Output[M]
	wake time.Duration
}

// turns encodes turns and answers for package record.
//
//	turn    index, skew (varints), kind (byte; none for the timer),
//	        From (varint; not for Start and Command), message or Text
//	answer  wake; for each send: Copy, To, Size, Priority, message, its length;
//	        for each watch and ignore: the node; for each event: its fields
type turns[M any] struct{ codec Codec[M] }

var errInput = errors.New("sim: no input of a program")

func (c turns[M]) AppendIn(b []byte, in turn[M]) []byte {
	b = binary.AppendVarint(binary.AppendUvarint(b, uint64(in.index)), int64(in.skew))
	switch in.Kind {
	case Timer:
		return b
	case Start:
		return append(b, byte(Start))
	case Command:
		return append(append(b, byte(Command)), in.Text...)
	}
	b = binary.AppendUvarint(append(b, byte(in.Kind)), uint64(in.From))
	if in.Kind == Reset {
		return b
	}
	return c.codec.Append(b, in.Msg)
}

func (c turns[M]) ParseIn(b []byte) (in turn[M], err error) {
	index, k := binary.Uvarint(b)
	if k <= 0 || index > math.MaxInt32 {
		return in, errInput
	}
	b = b[k:]
	skew, k := binary.Varint(b)
	if k <= 0 {
		return in, errInput
	}
	in.index, in.skew = int32(index), time.Duration(skew)
	return in, c.parse(b[k:], &in.Input)
}

func (c turns[M]) parse(b []byte, in *Input[M]) (err error) {
	if len(b) == 0 {
		return nil
	}
	in.Kind, b = Kind(b[0]), b[1:]
	switch in.Kind {
	case Start:
		return expect(len(b) == 0)
	case Command:
		in.Text = string(b)
		return nil
	case Message, Refused, Reset:
	default:
		return errInput
	}
	from, k := binary.Uvarint(b)
	if k <= 0 || from > math.MaxInt32 {
		return errInput
	}
	in.From, b = NodeID(from), b[k:]
	if in.Kind == Reset {
		return expect(len(b) == 0)
	}
	in.Msg, err = c.codec.Parse(b)
	return err
}

func expect(ok bool) error {
	if !ok {
		return errInput
	}
	return nil
}

func (c turns[M]) AppendOut(b []byte, out *answer[M]) []byte {
	b = binary.AppendVarint(b, int64(out.wake))
	for i := range out.Sends {
		s := &out.Sends[i]
		b = binary.AppendVarint(append(b, "sm"[bit(s.Copy)]), int64(s.To))
		b = binary.AppendVarint(b, int64(s.Size)<<1|int64(bit(s.Priority)))
		at := len(b)
		b = c.codec.Append(b, s.Msg)
		b = binary.AppendUvarint(b, uint64(len(b)-at))
	}
	for _, id := range out.Watch {
		b = binary.AppendVarint(append(b, 'w'), int64(id))
	}
	for _, id := range out.Ignore {
		b = binary.AppendVarint(append(b, 'i'), int64(id))
	}
	for _, ev := range out.Events {
		b = binary.AppendUvarint(append(b, 'e'), uint64(ev.Kind))
		b = binary.AppendUvarint(binary.AppendVarint(b, int64(ev.Subject)), ev.Value)
		b = append(binary.AppendUvarint(b, uint64(len(ev.Text))), ev.Text...)
	}
	return b
}
