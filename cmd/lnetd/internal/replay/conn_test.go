package replay

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"ulnet/lnd/capture"
)

// conn is a connection that is being played.
type conn struct {
	*net.TCPConn
	framer Framer            // splits the bytes that the node sends
	ahead  []*capture.Record // records that peekHello has read and that the method record will return next
	last   time.Duration     // time of the last event in the recording
	ended  [2]bool           // by Side: whether that side has closed the connection

	carries bool // the player has sent the HELLO after which the node sends messages on this connection, see Player.carries
}

// newConn returns a connection on which the node is the given side.
func newConn(c *net.TCPConn, node Side, opened time.Duration) *conn {
	return &conn{TCPConn: c, framer: Framer{Side: node}, last: opened}
}

// bytes receives as many bytes as the recorded node sent, and compares them with the recorded
// ones.
func (c *conn) bytes(want []byte, deadline time.Time) error {
	got := make([]byte, len(want))
	_ = c.SetReadDeadline(deadline) // if this fails, Read fails too
	n, err := io.ReadFull(c, got)
	if err != nil {
		return fmt.Errorf("%w: %w: %w", ErrSilent, err, compare(want, got[:n]))
	}
	return compare(want, got)
}

// peekHello returns the HELLO of a node that has dialled, or nil. The method record still
// returns that HELLO, and the records before it.
func (c *conn) peekHello(deadline time.Time) *capture.Record {
	for {
		r, err := c.read(deadline)
		if err != nil {
			return nil // the method record will return the error when it reads on
		}
		c.ahead = append(c.ahead, r)
		if r.Kind == capture.Hello {
			return r
		}
	}
}

// record returns the next record that the node has sent.
func (c *conn) record(deadline time.Time) (*capture.Record, error) {
	if len(c.ahead) > 0 {
		r := c.ahead[0]
		c.ahead = c.ahead[1:]
		return r, nil
	}
	return c.read(deadline)
}

func (c *conn) read(deadline time.Time) (*capture.Record, error) {
	_ = c.SetReadDeadline(deadline) // if this fails, Read fails too
	var b []byte
	for {
		n, err := c.framer.Size(b)
		if err != nil {
			return nil, fmt.Errorf("%w: % x", err, b)
		}
		if n == len(b) {
			return c.framer.Next(b)
		}
		have := len(b)
		b = append(b, make([]byte, n-have)...)
		if got, err := io.ReadFull(c, b[have:]); err != nil {
			return nil, fmt.Errorf("%w after %d bytes of a record: % x", err, have+got, b[:have+got])
		}
	}
}

// quiet checks that for a short time, the node neither sends nor closes the connection.
func (c *conn) quiet() error {
	_ = c.SetReadDeadline(time.Now().Add(quiet))
	var b [256]byte
	n, err := c.Read(b[:])
	switch {
	case n > 0:
		return fmt.Errorf("%w: % x", ErrExtra, b[:n])
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	}
	return fmt.Errorf("%w: %w", ErrClosed, err)
}

// awaitEnd waits until the node closes the connection, by FIN or RST, depending on whether the
// node has left bytes unread. The recorded node closed it after pause. This node may close it
// earlier by slack at most, and later by patience at most.
func (c *conn) awaitEnd(pause, patience time.Duration) error {
	begin := time.Now()
	_ = c.SetReadDeadline(begin.Add(pause + patience))
	var b [256]byte
	n, err := c.Read(b[:])
	switch {
	case n > 0:
		return fmt.Errorf("%w: % x", ErrExtra, b[:n])
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%w: after %v, want %v", ErrOpen, pause+patience, pause)
	case !errors.Is(err, io.EOF) && !gone(err):
		return err
	}
	if waited := time.Since(begin); pause > slack && waited < pause-slack {
		return fmt.Errorf("%w: after %v already, want %v", ErrClosed, waited, pause)
	}
	return nil
}
