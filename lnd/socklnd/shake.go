package socklnd

import (
	"io"
	"net"
	"os"
	"time"

	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/machine"
	"ulnet/lnet/wire"
)

// maxHandshakeRecord is the longest record of a handshake: a HELLO with all
// its addresses.
const maxHandshakeRecord = ksock.HelloV4Size + 4*ksock.MaxAddresses

// shake is a connection during its handshake. It reads records in the same pieces as kernels,
// each with a timeout of its own.
type shake struct {
	link
	clock      machine.Clock
	timeout    time.Duration // time-out of each read and write
	buf        [maxHandshakeRecord]byte
	n          int    // number of bytes of the record read so far
	generation uint64 // generation of the peer's connections when the HELLO was accepted
	slot       *slot  // slot of an accepted connection; nil if dialled
}

func newShake(ni *NI, c net.Conn, dialled bool, timeout time.Duration) *shake {
	s := &shake{clock: ni.clock, timeout: timeout}
	s.net, s.dialled = c, dialled
	s.local, s.remote = addrPort(c.LocalAddr()), addrPort(c.RemoteAddr())
	if ni.tap != nil {
		s.flow = ni.tap.Flow(s.local, s.remote, dialled)
	}
	return s
}

// record returns the bytes of the current record that were read.
func (s *shake) record() []byte { return s.buf[:s.n] }

// readTo reads until the record has n bytes in all.
func (s *shake) readTo(n int) error {
	return s.bounded(func() error {
		m, err := io.ReadFull(s.net, s.buf[s.n:n])
		if s.flow != nil && m > 0 {
			s.flow.Received(s.buf[s.n : s.n+m])
		}
		s.n += m
		return err
	})
}

// write writes b within the time-out.
func (s *shake) write(b []byte) error {
	return s.bounded(func() error {
		if s.flow != nil {
			s.flow.Sent(b) // captured before the write, so that no answer is captured earlier
		}
		_, err := s.net.Write(b)
		return err
	})
}

// bounded runs one call with the time-out. When the time-out is over the call fails with
// os.ErrDeadlineExceeded, and the connection cannot be used any more.
func (s *shake) bounded(call func() error) error {
	t := s.clock.AfterFunc(s.timeout, s.expire)
	err := call()
	if !t.Stop() {
		return os.ErrDeadlineExceeded
	}
	return err
}

// expire interrupts reads and writes of the connection.
func (s *shake) expire() { _ = s.net.SetDeadline(time.Unix(1, 0)) }

// close closes the connection and ends its capture.
func (s *shake) close() {
	_ = s.net.Close()
	if s.flow != nil {
		s.flow.Close()
	}
}

// readRequest reads the acceptor request: magic, version, NID.
func (s *shake) readRequest() (wire.AcceptorRequest, error) {
	s.n = 0
	for need := 4; s.n < need; {
		if err := s.readTo(need); err != nil {
			return wire.AcceptorRequest{}, err
		}
		var err error
		if need, err = wire.AcceptorRequestSize(s.record()); err != nil {
			return wire.AcceptorRequest{}, err
		}
	}
	r, _, err := wire.ParseAcceptorRequest(s.record())
	return r, err
}

// readHello reads a HELLO: magic, version, the rest, addresses. If accepts is not nil, readHello
// fails with errForeignVersion as soon as it has read a version that accepts refuses.
func (s *shake) readHello(accepts func(ksock.Version) bool) (ksock.Hello, error) {
	s.n = 0
	for need := 4; s.n < need; {
		if err := s.readTo(need); err != nil {
			return ksock.Hello{}, err
		}
		var err error
		if need, err = ksock.NextSize(s.record()); err != nil {
			return ksock.Hello{}, err
		}
		if p, err := ksock.ParsePrefix(s.record()); err == nil && accepts != nil && !accepts(p.Version) {
			return ksock.Hello{}, errForeignVersion
		}
	}
	h, _, err := ksock.ParseHello(s.record())
	return h, err
}
