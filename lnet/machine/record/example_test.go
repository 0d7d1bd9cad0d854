package record_test

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/machine/record"
)

// tally adds up its inputs, beginning with its Config.
type tally struct{ sum, step byte }

func (m *tally) Step(now time.Duration, in byte, out *[]byte) time.Duration {
	m.sum += in * m.step
	*out = append(*out, m.sum)
	return now + time.Second
}

type tallyCodec struct{}

func (tallyCodec) AppendIn(b []byte, in byte) []byte {
	if in == 0 {
		return b
	}
	return append(b, in)
}

func (tallyCodec) ParseIn(b []byte) (byte, error) {
	switch len(b) {
	case 0:
		return 0, nil
	case 1:
		return b[0], nil
	}
	return 0, fmt.Errorf("%d bytes", len(b))
}

func (tallyCodec) AppendOut(b []byte, out *[]byte) []byte { return append(b, *out...) }

func ExampleReplay() {
	var file bytes.Buffer
	rec := record.New(&file, tallyCodec{}, record.Full, []byte{10})
	m := rec.Boot(1, 0, nil, &tally{sum: 10, step: 1})
	for n := range 5 {
		var out []byte
		m.Step(time.Duration(n)*time.Second, byte(n), &out)
	}
	if _, err := rec.Close(); err != nil {
		fmt.Println(err)
	}

	for _, step := range []byte{1, 2} { // the machine as it was, and a changed one
		res, err := record.Replay(bytes.NewReader(file.Bytes()), tallyCodec{}, func(b record.Boot) (machine.Machine[byte, []byte], error) {
			return &tally{sum: b.Config[0], step: step}, nil
		})
		fmt.Println(res.Steps, "steps")
		if d, ok := errors.AsType[*record.DiffError](err); ok {
			fmt.Printf("step %d at %v of machine %d: %x, recorded %x\n", d.Step, d.Now, d.ID, d.Out, d.WantOut)
		}
	}
	// Output:
	// 5 steps
	// 2 steps
	// step 2 at 1s of machine 1: 0c, recorded 0b
}
