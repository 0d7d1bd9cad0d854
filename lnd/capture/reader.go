package capture

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// Packet is one packet of a capture.
type Packet struct {
	Time   time.Time // when the packet was captured
	Link   LinkType  // type of the link-layer header that Data begins with
	Data   []byte    // valid until the next call of Next
	Length int       // bytes on the wire; more than len(Data) if cut
}

// Bounds of a Reader: a packet is no longer than maxPacket, a block of pcapng
// that it has to read no longer than maxBlock.
const (
	maxPacket     = 1 << 20
	maxBlock      = maxPacket + 1<<16
	maxInterfaces = 1 << 12

	readSize = 256 << 10 // bytes to ask the input for at once
)

// The errors of captures that cannot be read.
var (
	ErrNotCapture = errors.New("neither pcap nor pcapng")
	ErrDamaged    = errors.New("damaged capture")
	// ErrIncomplete is the cause of a DamageError where a capture ends inside a record, for example
	// because it is still being written. All records before it are whole.
	ErrIncomplete = errors.New("it ends inside a record")
)

// DamageError tells where a capture cannot be read any further. It is an
// ErrDamaged.
type DamageError struct {
	Offset int64 // offset in the file of the record or block at fault, in bytes
	Err    error // what is wrong at this offset
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%v at byte %d: %v", ErrDamaged, e.Offset, e.Err)
}

// Unwrap returns ErrDamaged and the cause.
func (e *DamageError) Unwrap() []error { return []error{ErrDamaged, e.Err} }

// Reader reads captures in the formats pcap and pcapng. The reader of gopacket is not used,
// because this one reports the offset of damage, bounds its memory whatever a file claims, and
// knows link types above 255.
type Reader struct {
	r      *bufio.Reader
	offset int64 // offset in the file of the next byte
	begin  int64 // offset of the record or block in progress
	next   func() (Packet, error)
	order  binary.ByteOrder
	buf    []byte

	link       LinkType // link type of the whole file, if it is pcap
	nanosecond bool
	interfaces []ngInterface // interfaces of the present section, if the file is pcapng
}

// NewReader reads the beginning of a capture. The error is ErrNotCapture, a
// *DamageError, or that of src.
func NewReader(src io.Reader) (*Reader, error) {
	r := &Reader{r: bufio.NewReaderSize(src, readSize)}
	magic, err := r.r.Peek(4)
	if err != nil {
		if err == io.EOF {
			err = ErrNotCapture
		}
		return nil, err
	}
	switch binary.LittleEndian.Uint32(magic) {
	case ngSection:
		r.next = r.nextBlock
		return r, nil
	case 0xa1b2c3d4:
		r.order = binary.LittleEndian
	case 0xd4c3b2a1:
		r.order = binary.BigEndian
	case 0xa1b23c4d:
		r.order, r.nanosecond = binary.LittleEndian, true
	case 0x4d3cb2a1:
		r.order, r.nanosecond = binary.BigEndian, true
	default:
		return nil, ErrNotCapture
	}
	r.next = r.nextRecord
	return r, r.fileHeader()
}

// Next returns the next packet, io.EOF at the end of the capture, a
// *DamageError where it cannot be read any further, and the errors of the
// source.
func (r *Reader) Next() (Packet, error) {
	p, err := r.next()
	if err == nil || err == io.EOF {
		return p, err
	}
	return Packet{}, r.fault(err)
}

// fault adds the place in the capture to an error.
func (r *Reader) fault(err error) error {
	if _, ok := errors.AsType[*sourceError](err); ok {
		return fmt.Errorf("after byte %d: %w", r.offset, err)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = ErrIncomplete
	}
	return &DamageError{Offset: r.begin, Err: err}
}

// sourceError is an error of the source: no fault of the capture.
type sourceError struct{ error }

func (e *sourceError) Unwrap() error { return e.error }

// fileHeader reads the header of a pcap file.
func (r *Reader) fileHeader() error {
	b, err := r.read(24)
	if err != nil {
		return r.fault(err)
	}
	r.link = LinkType(r.order.Uint32(b[20:])) // the upper 16 bits do not belong to the link type
	return nil
}

// nextRecord reads a record of a pcap file.
func (r *Reader) nextRecord() (Packet, error) {
	r.begin = r.offset
	b, err := r.read(16)
	if err != nil {
		return Packet{}, err
	}
	seconds, fraction := r.order.Uint32(b), r.order.Uint32(b[4:])
	captured, length := r.order.Uint32(b[8:]), r.order.Uint32(b[12:])
	if captured > maxPacket {
		return Packet{}, fmt.Errorf("packet of %d bytes", captured)
	}
	if !r.nanosecond {
		fraction *= 1000
	}
	data, err := r.read(int(captured))
	if err != nil {
		return Packet{}, inside(err)
	}
	at := time.Unix(int64(seconds), int64(fraction)).UTC()
	return Packet{Time: at, Link: r.link, Data: data, Length: int(length)}, nil
}

// read returns the next n bytes, valid until the next call. At the end of the
// input it returns io.EOF, or io.ErrUnexpectedEOF after some of them. Bytes that fit the
// buffer of the input are not copied.
func (r *Reader) read(n int) ([]byte, error) {
	if n > r.r.Size() {
		return r.readLong(n)
	}
	b, err := r.r.Peek(n)
	_, _ = r.r.Discard(len(b)) // these bytes are in the buffer, so this cannot fail
	r.offset += int64(len(b))
	if err == io.EOF && len(b) > 0 {
		err = io.ErrUnexpectedEOF
	}
	return b, ofSource(err)
}

// readLong is read for more bytes than the buffer of the input holds.
func (r *Reader) readLong(n int) ([]byte, error) {
	if cap(r.buf) < n {
		r.buf = make([]byte, n)
	}
	r.buf = r.buf[:n]
	read, err := io.ReadFull(r.r, r.buf)
	r.offset += int64(read)
	return r.buf, ofSource(err)
}

// ofSource marks an error as one of the source, unless it is only the end of the input.
func ofSource(err error) error {
	if err == nil || err == io.EOF || err == io.ErrUnexpectedEOF {
		return err
	}
	return &sourceError{err}
}

// inside turns io.EOF into io.ErrUnexpectedEOF, because the input has ended inside a record.
func inside(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
