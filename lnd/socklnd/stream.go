package socklnd

import (
	"io"
	"net"
	"sync"
)

// stream moves the bytes of one connection. There are two implementations: rawStream calls the
// operating system on a non-blocking socket, plainStream uses any net.Conn. One goroutine reads and
// one writes at a time. Closing the net.Conn ends every wait.
type stream interface {
	// readIdle waits until bytes are there, and only then takes a buffer from the pool and
	// reads at most limit bytes to it. The caller releases it. With a limit of no more than
	// len(small) it reads to small and takes no buffer. At the end of the stream the error is
	// io.EOF.
	readIdle(small []byte, limit int) (*readBuffer, int, error)
	// readv waits for bytes and reads to the pieces that are left in v,
	// without advancing it. At the end of the stream the error is io.EOF.
	readv(v *vector) (int, error)
	// writev writes from the pieces that are left in v, without advancing it.
	// It waits until at least one byte is written; if wait is not set it
	// returns 0 instead of waiting.
	writev(v *vector, wait bool) (int, error)
	// write writes the beginning of b, as many bytes as the connection takes at once, perhaps
	// none.
	write(b []byte) (int, error)
	// awaitHangUp waits until the other end sends no more, even if bytes are left to be read,
	// or has reset the connection. It returns false when the connection is closed on this side,
	// or its read deadline passes. On systems where it cannot find out, it returns false at
	// once.
	awaitHangUp() bool
	// unread reports whether bytes, or the end of the stream, have come that were not read yet. If
	// that cannot be known, it returns true.
	unread() bool
	// interruptible reports whether a read deadline of the net.Conn ends
	// readIdle, with os.ErrDeadlineExceeded.
	interruptible() bool
}

// newStream makes the fastest stream that c allows.
func newStream(c net.Conn, poll *polling) stream {
	if s := newRawStream(c, poll); s != nil {
		return s
	}
	return &plainStream{conn: c}
}

// readBufferSize is the size of the pooled read buffers: hundreds of small
// messages arrive with one read.
const readBufferSize = 64 << 10

// readBuffer is where headers are read, with the payload bytes that come along.
type readBuffer struct {
	bytes [readBufferSize]byte
	vec   vector
}

var readBuffers = sync.Pool{New: func() any { return new(readBuffer) }}

func getReadBuffer() *readBuffer { return readBuffers.Get().(*readBuffer) }

// release gives the buffer back to the pool.
func (b *readBuffer) release() {
	b.vec.reset()
	readBuffers.Put(b)
}

// plainStream is the stream over a net.Conn that is no socket of the operating system, but a connection in
// memory. It holds a buffer while it waits.
type plainStream struct{ conn net.Conn }

func (s *plainStream) readIdle(small []byte, limit int) (*readBuffer, int, error) {
	if limit <= len(small) {
		n, err := s.read(small[:limit])
		return nil, n, err
	}
	buf := getReadBuffer()
	n, err := s.read(buf.bytes[:limit])
	if err != nil {
		buf.release()
		return nil, 0, err
	}
	return buf, n, nil
}

func (s *plainStream) readv(v *vector) (int, error) { return s.read(v.left()[0]) }

func (s *plainStream) read(b []byte) (int, error) {
	for {
		n, err := s.conn.Read(b)
		switch {
		case n > 0:
			return n, nil
		case err == io.ErrUnexpectedEOF, err == io.ErrClosedPipe:
			return 0, io.EOF
		case err != nil:
			return 0, err
		}
	}
}

func (s *plainStream) writev(v *vector, wait bool) (int, error) {
	if !wait {
		return 0, nil
	}
	return s.conn.Write(v.left()[0])
}

func (s *plainStream) write([]byte) (int, error) { return 0, nil }

func (s *plainStream) awaitHangUp() bool { return false }

func (s *plainStream) unread() bool { return true }

func (s *plainStream) interruptible() bool { return false }
