package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"ulnet/lnet/wire"
)

// The errors of Player.Play besides those of Differences.
var (
	ErrClosed     = errors.New("node has closed a connection that stays open in the recording")
	ErrOpen       = errors.New("node keeps a connection open that it closes in the recording")
	ErrExtra      = errors.New("node sends more than in the recording")
	ErrSilent     = errors.New("node sends less than in the recording")
	ErrSourcePort = errors.New("node dials from another port than in the recording")
	ErrExtraConn  = errors.New("node opens more connections than in the recording")
	ErrNoConn     = errors.New("node opens fewer connections than in the recording")
)

const (
	// patience is how long an answer or a connection may take. Only a node
	// that never gives it waits so long: no time-out of a node yields either.
	patience = 10 * time.Second
	// slack is how much longer than in the recording a close may take. It is
	// less than the 5 s after which an acceptor loses patience, so that a
	// refusal is told from a time-out.
	slack = 3 * time.Second
	// quiet is how long nothing may come where nothing comes in the
	// recording. A node that is wrong answers within microseconds.
	quiet = 50 * time.Millisecond
)

// Player plays one side of a Script against a node.
type Player struct {
	Script *Script
	Side   Side // the side that is played; the node is the other one
	// Dial opens a connection to the node from the recorded port, or from
	// another one below 1024 if that is in use. For the Initiator.
	Dial func(ctx context.Context, local, remote netip.AddrPort) (*net.TCPConn, error)
	// Listener gets the connections of the node. For the Acceptor.
	Listener *net.TCPListener
	// Operate has somebody at the node do what makes it send its next GET or
	// open its first connection.
	Operate func()
	// AnyPort lets the node dial from other ports than in the recording.
	AnyPort bool

	Differences
	conns    []*conn // by index in Script.Conns
	operated int     // calls of Operate
	gets     int     // GETs that the node has sent
}

// conn is a connection that is being played.
type conn struct {
	*net.TCPConn
	last  time.Duration // the recorded time of the last event
	ended [2]bool       // by Side
}

// Play plays the script to its end and returns the first difference.
// Afterwards all connections are closed.
func (p *Player) Play(ctx context.Context) error {
	p.conns = make([]*conn, len(p.Script.Conns))
	defer p.close()
	for i, e := range p.Script.Events {
		err := p.event(ctx, e)
		if gone(err) && p.endsNext(i) {
			continue // awaitEnd judges the close
		}
		if err != nil {
			return fmt.Errorf("event %d, %v of the %v on connection %d: %w", i, e.Kind, e.From, e.Conn, err)
		}
	}
	return p.rest()
}

// gone reports whether an error tells that the other side has closed.
func gone(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

// endsNext reports whether event i is data of the player, and the next thing
// that the node does on the connection is to end it: then it may do so before
// it has got everything.
func (p *Player) endsNext(i int) bool {
	e := p.Script.Events[i]
	if e.Kind != Data || e.From != p.Side {
		return false
	}
	for _, next := range p.Script.Events[i+1:] {
		if next.Conn == e.Conn && next.From != p.Side {
			return next.Kind == Closed
		}
	}
	return false
}

func (p *Player) event(ctx context.Context, e Event) error {
	if e.Kind == Open {
		return p.open(ctx, e)
	}
	c := p.conns[e.Conn]
	pause := e.At - c.last
	c.last = e.At
	own := e.From == p.Side
	switch {
	case e.Kind == Data && own:
		_, err := c.Write(p.Substitute(e.Data))
		return err
	case e.Kind == Data:
		return p.data(c, e.Data, pause)
	case own:
		return p.end(c, e.Reset)
	}
	c.ended[e.From] = true
	if e.Reset {
		c.ended[p.Side] = true
	}
	return c.awaitEnd(pause)
}

// end ends a connection as the player does in the recording. Until then the
// node keeps it open, unless it ends it first there too.
func (p *Player) end(c *conn, reset bool) error {
	if !c.ended[p.Side.Other()] {
		if err := c.quiet(); err != nil {
			return err
		}
	}
	c.ended[p.Side] = true
	if !reset {
		// This fails when the node has reset the connection, which is as well.
		_ = c.CloseWrite()
		return nil
	}
	c.ended[p.Side.Other()] = true
	_ = c.SetLinger(0)
	return c.Close()
}

// open opens a connection or waits for the one that the node opens.
func (p *Player) open(ctx context.Context, e Event) error {
	ends := p.Script.Conns[e.Conn].Ends
	if p.Side == Initiator {
		c, err := p.Dial(ctx, ends[Initiator], ends[Acceptor])
		if err != nil {
			return err
		}
		p.conns[e.Conn] = &conn{TCPConn: c, last: e.At}
		return nil
	}
	if p.operated == 0 {
		p.operate()
	}
	_ = p.Listener.SetDeadline(time.Now().Add(patience)) // fails with what AcceptTCP reports
	c, err := p.Listener.AcceptTCP()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoConn, err)
	}
	p.conns[e.Conn] = &conn{TCPConn: c, last: e.At}
	if from := c.RemoteAddr().(*net.TCPAddr).AddrPort(); !p.AnyPort && from != ends[Initiator] {
		return fmt.Errorf("%w: %v, want %v", ErrSourcePort, from, ends[Initiator])
	}
	return nil
}

// data receives a record of the node and compares it.
func (p *Player) data(c *conn, want []byte, pause time.Duration) error {
	if isMessage(want, wire.Get) {
		if p.operated == p.gets {
			p.operate()
		}
		p.gets++
	}
	got := make([]byte, len(want))
	_ = c.SetReadDeadline(time.Now().Add(pause + patience))
	n, err := io.ReadFull(c, got)
	if err != nil {
		return fmt.Errorf("%w: %w: %w", ErrSilent, err, p.Check(want, got[:n]))
	}
	return p.Check(want, got)
}

func (p *Player) operate() {
	p.operated++
	if p.Operate != nil {
		p.Operate()
	}
}

// rest checks that the node does nothing more.
func (p *Player) rest() error {
	for i, c := range p.conns {
		if c == nil || c.ended[p.Side.Other()] {
			continue
		}
		if err := c.quiet(); err != nil {
			return fmt.Errorf("connection %d, at the end: %w", i, err)
		}
	}
	if p.Side == Initiator {
		return nil
	}
	_ = p.Listener.SetDeadline(time.Now().Add(quiet))
	c, err := p.Listener.Accept()
	if err == nil {
		_ = c.Close()
		return fmt.Errorf("%w: from %v", ErrExtraConn, c.RemoteAddr())
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return nil
}

func (p *Player) close() {
	for _, c := range p.conns {
		if c != nil {
			_ = c.Close()
		}
	}
}

// quiet checks that the node neither sends anything nor closes.
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

// awaitEnd waits for the node to close, with FIN or RST: which of them depends
// on what it has left unread. Where the recorded node waited before, this one
// must wait too.
func (c *conn) awaitEnd(pause time.Duration) error {
	begin := time.Now()
	_ = c.SetReadDeadline(begin.Add(pause + slack))
	var b [256]byte
	n, err := c.Read(b[:])
	switch {
	case n > 0:
		return fmt.Errorf("%w: % x", ErrExtra, b[:n])
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%w: after %v, want %v", ErrOpen, pause+slack, pause)
	case !errors.Is(err, io.EOF) && !gone(err):
		return err
	}
	if waited := time.Since(begin); pause > slack && waited < pause-slack {
		return fmt.Errorf("%w: after %v already, want %v", ErrClosed, waited, pause)
	}
	return nil
}
