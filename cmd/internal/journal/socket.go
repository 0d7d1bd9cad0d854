package journal

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"strconv"
	"sync"
	"time"
)

const (
	// sendTimeout bounds the time that a line waits for a journald that does not read.
	sendTimeout = 250 * time.Millisecond
	// pause is the time after such a wait in which lines are dropped at once: goroutines of
	// connections log, and must not wait for the disk of journald.
	pause = 5 * time.Second
)

// socket is a connection to journald, which is made when it is needed.
type socket struct {
	address string
	dial    func(network, address string) (net.Conn, error)

	mu      sync.Mutex
	conn    net.Conn  // nil: not connected; guarded by mu, like the fields below
	paused  time.Time // end of the pause; zero: the last line did not time out
	dropped uint64    // lines that journald did not read in time, since it last read one
}

func newSocket(address string) *socket { return &socket{address: address, dial: net.Dial} }

// send sends a line, or drops it if journald does not read. When journald reads again, send first sends a
// line that says how many were dropped; that line gets the given name. The error means that there is no
// journald.
func (s *socket) send(name string, line []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().Before(s.paused) {
		s.dropped++
		return nil
	}
	var err error
	if s.dropped > 0 {
		err = s.deliver(dropLine(name, s.dropped))
	}
	if err == nil {
		s.dropped, s.paused = 0, time.Time{}
		err = s.deliver(line)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.dropped++
		s.paused = time.Now().Add(pause)
		return nil
	}
	return err
}

// dropLine returns the line that tells how many lines were dropped.
func dropLine(name string, lines uint64) []byte {
	return entry(name, slog.LevelWarn, "journald did not read: lines of this log were dropped", []field{{"lines", strconv.FormatUint(lines, 10)}})
}

// deliver sends a datagram. If journald was restarted, deliver connects again. The caller holds mu.
func (s *socket) deliver(b []byte) error {
	if s.conn != nil {
		err := s.write(b)
		if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		_ = s.conn.Close()
		s.conn = nil
	}
	c, err := s.dial("unixgram", s.address)
	if err != nil {
		return err
	}
	s.conn = c
	return s.write(b)
}

// write sends a datagram on the connection. The caller holds mu.
func (s *socket) write(b []byte) error {
	_ = s.conn.SetWriteDeadline(time.Now().Add(sendTimeout)) // cannot fail on Unix sockets
	_, err := s.conn.Write(b)
	return err
}
