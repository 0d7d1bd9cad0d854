package scenario

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// ErrRecording is returned by [Replay] for input that is not the recording of a run.
var ErrRecording = errors.New("no recording of a simulation, or a damaged one")

// A recording is a magic line, then chunks: a byte for the kind, the length as
// a varint, and that many bytes. The first chunk is the header.
const magic = "ulnet simulation 1\n"

// Kinds of chunks in a recording.
const (
	chunkHeader     = 'h' // the header, as JSON
	chunkCheckpoint = 'c' // digest in 8 bytes, little endian, and time in ns as a varint
	chunkInputs     = 'i' // a piece of what the protocol writes to Setup.Record
	chunkEnd        = 'e' // an empty chunk: the run ended regularly
)

const (
	maxHeader = 8 << 20
	maxChunk  = 1 << 20
)

// header has the parameters of the recorded run.
type header struct {
	Name     string `json:"name"`
	Text     string `json:"text"`
	Protocol string `json:"protocol"`
	Nodes    int    `json:"nodes"`
	Seed     uint64 `json:"seed"`
	Level    string `json:"level"`
	Inputs   bool   `json:"inputs"` // the recording has chunks of inputs
}

// recording writes the recording of a run. It keeps the first error, which end returns.
type recording struct {
	w   *bufio.Writer
	err error
	buf []byte
}

func newRecording(w io.Writer, h *header) *recording {
	r := &recording{w: bufio.NewWriterSize(w, 1<<16)}
	text, err := json.Marshal(h)
	if err != nil {
		r.err = err
	}
	r.keep(r.w.WriteString(magic))
	r.chunk(chunkHeader, text)
	return r
}

func (r *recording) keep(_ int, err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *recording) chunk(kind byte, content []byte) {
	r.buf = binary.AppendUvarint(append(r.buf[:0], kind), uint64(len(content)))
	r.keep(r.w.Write(r.buf))
	r.keep(r.w.Write(content))
}

// Write writes one piece of the recorded inputs.
func (r *recording) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		piece := rest[:min(len(rest), maxChunk)]
		r.chunk(chunkInputs, piece)
		rest = rest[len(piece):]
	}
	return len(b), r.err
}

// checkpoint writes the digest of the run up to a time, and that time.
func (r *recording) checkpoint(at time.Duration, digest uint64) {
	b := binary.LittleEndian.AppendUint64(nil, digest)
	r.chunk(chunkCheckpoint, binary.AppendUvarint(b, uint64(at)))
}

// end ends the recording and returns the first error of writing.
func (r *recording) end(whole bool) error {
	if whole {
		r.chunk(chunkEnd, nil)
	}
	r.keep(0, r.w.Flush())
	if r.err != nil {
		return fmt.Errorf("writing the recording: %w", r.err)
	}
	return nil
}

// playback is a recording that is being read.
type playback struct {
	r       *bufio.Reader
	inputs  []byte        // rest of the present chunk of inputs
	ended   bool          // the final chunk was read
	at      time.Duration // time of the latest checkpoint that was read
	digest  uint64
	content []byte
}

// newPlayback reads the header of a recording.
func newPlayback(r io.Reader) (*playback, *header, error) {
	p := &playback{r: bufio.NewReaderSize(r, 1<<16)}
	line := make([]byte, len(magic))
	if _, err := io.ReadFull(p.r, line); err != nil || string(line) != magic {
		return nil, nil, ErrRecording
	}
	kind, content, err := p.chunk(maxHeader)
	if err != nil {
		return nil, nil, err
	}
	var h header
	if kind != chunkHeader || json.Unmarshal(content, &h) != nil {
		return nil, nil, ErrRecording
	}
	return p, &h, nil
}

// chunk reads a chunk, which is valid until the next call. The error is io.EOF at the end of the
// file, and also within a chunk: so ends the recording of a run that was interrupted.
func (p *playback) chunk(limit uint64) (kind byte, content []byte, err error) {
	if kind, err = p.r.ReadByte(); err != nil {
		return 0, nil, err
	}
	n, err := binary.ReadUvarint(p.r)
	if err != nil || n > limit {
		return 0, nil, cutOff(err)
	}
	// The length may be damaged: memory is allocated only as far as the file has bytes for it.
	p.content = p.content[:0]
	for uint64(len(p.content)) < n {
		i := len(p.content)
		p.content = append(p.content, make([]byte, min(n-uint64(i), 1<<16))...)
		if _, err := io.ReadFull(p.r, p.content[i:]); err != nil {
			return 0, nil, cutOff(err)
		}
	}
	return kind, p.content, nil
}

func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return io.EOF
	}
	return ErrRecording
}

// next skips chunks up to the next one of a kind, and returns that. The error is io.EOF if there is
// none.
func (p *playback) next(want byte) ([]byte, error) {
	for !p.ended {
		kind, content, err := p.chunk(maxChunk)
		if err == nil && kind == chunkCheckpoint {
			err = p.pass(content)
		}
		switch {
		case err != nil:
			return nil, err
		case kind == chunkEnd:
			p.ended = true
		case kind == want:
			return content, nil
		case kind != chunkCheckpoint && kind != chunkInputs:
			return nil, ErrRecording
		}
	}
	return nil, io.EOF
}

// Read reads from the recorded inputs.
func (p *playback) Read(b []byte) (int, error) {
	for len(p.inputs) == 0 {
		content, err := p.next(chunkInputs)
		if err != nil {
			return 0, err
		}
		p.inputs = content
	}
	n := copy(b, p.inputs)
	p.inputs = p.inputs[n:]
	return n, nil
}

// pass parses a checkpoint and keeps its time and digest.
func (p *playback) pass(content []byte) error {
	if len(content) < 9 {
		return ErrRecording
	}
	ns, n := binary.Uvarint(content[8:])
	if n <= 0 || ns > uint64(maxTime) {
		return ErrRecording
	}
	p.at, p.digest = time.Duration(ns), binary.LittleEndian.Uint64(content)
	return nil
}

// checkpoint reads the next checkpoint.
func (p *playback) checkpoint() (at time.Duration, digest uint64, err error) {
	_, err = p.next(chunkCheckpoint)
	return p.at, p.digest, err
}
