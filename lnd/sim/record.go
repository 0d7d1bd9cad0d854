package sim

import (
	"encoding/binary"
	"io"
	"math"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/machine/record"
)

// Recorder records the inputs and outputs of the nodes of one network, which is all that
// [Replay] needs to step them again without the network. It goes into [Config].
//
// For package record, all programs together are one machine, because looking up one of a
// million would be too slow. A further machine for each node, which makes no steps,
// records the starts of its incarnations.
type Recorder[M any] struct {
	rec   *record.Recorder[turn[M], answer[M]]
	all   machine.Machine[turn[M], answer[M]]
	index []int32 // index of each node, from 1 in the order of their first incarnations
	count int32
	out   answer[M]
	next  Program[M] // the program that is stepped next
	form  []byte
}

// allPrograms is the id, in the recording, of the one machine that stands for all programs. The
// machines that record incarnations have the numbers of their nodes.
const allPrograms = math.MaxUint32

// NewRecorder begins a recording on w. config is handed to the boot function of Replay.
// Mode record.Full keeps the outputs themselves.
func NewRecorder[M any](w io.Writer, codec Codec[M], mode record.Mode, config []byte) *Recorder[M] {
	r := &Recorder[M]{rec: record.New(w, turns[M]{codec}, mode, config)}
	r.all = r.rec.Boot(allPrograms, 0, nil, programs[M]{r})
	return r
}

// Close ends the recording and returns the first error of writing. It does
// not close the writer.
func (r *Recorder[M]) Close() error {
	_, err := r.rec.Close()
	return err
}

// boot records that a node begins an incarnation. The bytes that it keeps with the start are:
//
//	8 seed, 1 whether the program of the incarnation before was kept, Now (varint)
func (r *Recorder[M]) boot(l Incarnation, keep bool) {
	r.form = binary.LittleEndian.AppendUint64(r.form[:0], l.Seed)
	r.form = binary.AppendVarint(append(r.form, byte(bit(keep))), int64(l.Now))
	r.rec.Boot(uint64(l.Node), l.Number, r.form, nil)
	if r.index[l.Node] == 0 {
		r.count++
		r.index[l.Node] = r.count
	}
}

// step steps p and records the step.
func (r *Recorder[M]) step(at time.Duration, id NodeID, p Program[M], now time.Duration, in *Input[M], out *Output[M]) (wake time.Duration) {
	r.next, r.out.Output = p, *out
	r.all.Step(at, turn[M]{r.index[id], now - at, *in}, &r.out)
	*out = r.out.Output
	return r.out.wake
}

// programs presents all programs of a recorded network as one machine.
type programs[M any] struct{ r *Recorder[M] }

func (p programs[M]) Step(at time.Duration, in turn[M], out *answer[M]) time.Duration {
	out.wake = p.r.next.Step(at+in.skew, in.Input, &out.Output)
	return machine.Never
}
