// Package record writes the inputs and outputs of machines to a file, and steps machines with
// recorded inputs again. A recording of a program in use shows later what happened; recordings
// of a simulation show that every run is the same. It depends on the standard library and on
// the contract of package machine alone.
//
// A recording may hold many machines of one kind. It is blocks of
//
//	4  magic "ULS" and version 1
//	4  n, little endian
//	8  digest of the content of all blocks so far, little endian
//	n  content
//
// The content of the first block is the mode, one byte, and the Config. The other blocks have
// records, of varints and of bytes with their length in front:
//
//	0, steps                   the end
//	1, id, incarnation, kept bytes    a machine begins an incarnation
//	id+2, now less that of the step before in the file (signed), input,
//	    0 for Never or wake-now+1, form of the output    a step
//
// If a step panicked, its record ends after the input, and the block ends there too.
package record

import (
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
	"sync"
	"time"

	"ulnet/lnet/machine"
)

const (
	magic     = "ULS\x01"
	frameSize = 4 + 4 + 8
	blockSize = 64 << 10 // a block is written when it has at least this many bytes
	maxBlock  = 64 << 20
)

// Mode says how outputs are recorded: whole or as digests.
type Mode byte

const (
	Full    Mode = iota // whole outputs, so that Replay shows how they differ
	Digests             // digests of outputs in 8 bytes; an empty output has none
)

// Codec gives the inputs and outputs of a machine their binary forms.
type Codec[In, Out any] interface {
	// AppendIn appends the binary form of the input in; the zero In should have no bytes.
	AppendIn(b []byte, in In) []byte
	// ParseIn reverses AppendIn. b may hold anything; the input may refer to it.
	ParseIn(b []byte) (In, error)
	// AppendOut appends the form of all effects. It is compared, never parsed.
	AppendOut(b []byte, out *Out) []byte
}

// Recorder writes what machines of one kind are given and what they answer. Its
// methods and its machines may be used by several goroutines: it puts the steps in
// an order. After a write error machines go on without being recorded.
type Recorder[In, Out any] struct {
	w     io.Writer
	codec Codec[In, Out]
	mode  Mode

	mu     sync.Mutex
	block  []byte // block that is not written yet: room for its length and digest, then its records; guarded by mu, like all below
	form   []byte // memory for an encoded input or output
	digest uint64
	now    time.Duration // time of the last step
	steps  uint64
	err    error
}

// New begins a recording on w. [Replay] passes config to the function that makes its
// machines. The Recorder writes whole blocks to w, of about 64 KiB.
func New[In, Out any](w io.Writer, codec Codec[In, Out], mode Mode, config []byte) *Recorder[In, Out] {
	r := &Recorder[In, Out]{w: w, codec: codec, mode: mode, block: make([]byte, frameSize, 2*blockSize)}
	r.block = append(append(r.block, byte(mode)), config...)
	r.write()
	return r
}

// Boot notes that m begins an incarnation: the machine's first, or a later one with what was
// kept from those before. It returns a machine that steps m and records each step. While m is
// stepped, it must not step another machine of this Recorder. id must be none of the two largest
// numbers.
func (r *Recorder[In, Out]) Boot(id, incarnation uint64, kept []byte, m machine.Machine[In, Out]) machine.Machine[In, Out] {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := binary.AppendUvarint(append(r.block, 1), id)
	r.block = appendBytes(binary.AppendUvarint(b, incarnation), kept)
	r.writeFull()
	return &recorded[In, Out]{r, id, m}
}

// Flush writes what has been recorded and returns the first error of writing.
func (r *Recorder[In, Out]) Flush() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.write()
	return r.err
}

// Close ends the recording and returns the first error of writing and the digest of
// the whole: two runs of the same steps have the same digest. It does not close w.
func (r *Recorder[In, Out]) Close() (digest uint64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.block = binary.AppendUvarint(append(r.block, 0), r.steps)
	r.write()
	err, r.err = r.err, errors.Join(r.err, errors.New("recording is closed"))
	return r.digest, err
}

func (r *Recorder[In, Out]) writeFull() {
	if len(r.block) >= frameSize+blockSize {
		r.write()
	}
}

// write writes the present block. The caller holds r.mu.
func (r *Recorder[In, Out]) write() {
	b := r.block
	if r.block = b[:frameSize]; len(b) > frameSize+maxBlock {
		r.err = errors.Join(r.err, errors.New("step too long to record"))
	}
	if r.err != nil || len(b) == frameSize {
		return
	}
	r.digest = digest(r.digest, b[frameSize:])
	copy(b, magic)
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)-frameSize))
	binary.LittleEndian.PutUint64(b[8:], r.digest)
	_, r.err = r.w.Write(b)
}

type recorded[In, Out any] struct {
	r  *Recorder[In, Out]
	id uint64
	m  machine.Machine[In, Out]
}

func (m *recorded[In, Out]) Step(now time.Duration, in In, out *Out) (wake time.Duration) {
	r := m.r
	r.mu.Lock()
	panicked := true
	defer func() {
		if panicked {
			r.write()
		}
		r.writeFull()
		r.mu.Unlock()
	}()
	b := binary.AppendUvarint(r.block, m.id+2)
	b = binary.AppendVarint(b, int64(now-r.now))
	r.form = r.codec.AppendIn(r.form[:0], in)
	r.block = appendBytes(b, r.form)
	r.now, r.steps = now, r.steps+1
	wake = m.m.Step(now, in, out)
	r.form = appendForm(r.form[:0], r.codec, r.mode, out)
	r.block = appendBytes(binary.AppendUvarint(r.block, wakeCode(now, wake)), r.form)
	panicked = false
	return wake
}

func wakeCode(now, wake time.Duration) uint64 {
	if wake == machine.Never {
		return 0
	}
	return uint64(wake-now) + 1
}

// appendForm appends the form of out that mode asks for.
func appendForm[In, Out any](b []byte, codec Codec[In, Out], mode Mode, out *Out) []byte {
	at := len(b)
	b = codec.AppendOut(b, out)
	if mode == Digests && len(b) > at {
		b = binary.LittleEndian.AppendUint64(b[:at], digest(0, b[at:]))
	}
	return b
}

// appendBytes appends the length of s, and s.
func appendBytes(b, s []byte) []byte { return append(binary.AppendUvarint(b, uint64(len(s))), s...) }

// digest adds b to a digest, which detects accidental damage but no forgery.
func digest(h uint64, b []byte) uint64 {
	const odd = 0x9e3779b97f4a7c15
	h = (h ^ uint64(len(b))) * odd
	for ; len(b) >= 8; b = b[8:] {
		h = bits.RotateLeft64((h^binary.LittleEndian.Uint64(b))*odd, 29)
	}
	for _, c := range b {
		h = bits.RotateLeft64((h^uint64(c))*odd, 29)
	}
	return h ^ h>>32
}
