package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"syscall"
	"time"

	"ulnet/lnd/capture"
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
	// patience is the usual Player.Patience.
	patience = time.Minute
	// slack is by how much a node may close a connection earlier than recorded.
	slack = 3 * time.Second
	// quiet is how long the test checks that the node is silent where the recorded node was silent.
	// A wrong answer would come within microseconds.
	quiet = 50 * time.Millisecond
)

// Player plays one host of a Script, the one with the address Host, against a node, which takes
// the part of the other host.
type Player struct {
	Script *Script    // a script of records, see Script.Records
	Host   netip.Addr // the host whose part is played
	// Dial opens a connection to the node from the recorded port, or from another one below 1024 if
	// that is in use. It is needed if the host opens connections.
	Dial func(ctx context.Context, local, remote netip.AddrPort) (*net.TCPConn, error)
	// Listener accepts the connections of the node. It is needed if the node opens connections.
	// Play closes it when the recorded host refuses a connection.
	Listener *net.TCPListener
	// Operate makes the node send this PUT or GET. It is called before Play waits for that message,
	// or for the connections and the discovery that come before the message. A nil message stands
	// for an operation that sent no message in the recording.
	Operate func(message *capture.Record)
	// Shutdown ends the node. It is called before the node closes a connection for the
	// first time. nil: the node closes connections by itself.
	Shutdown func()
	// Patience bounds the wait for an answer, for a connection, and for the end of a connection after
	// the time at which the recorded node ended it. The node's counters, not these times, tell a
	// refusal from a timeout. 0: a minute.
	Patience time.Duration
	// Established waits until the node uses the given number of the connections that it has opened.
	// If it is nil, a message may come on another connection than in the recording, because the
	// player is faster than the recorded host.
	Established func(conns int) error
	// Settled waits until the node has counted all messages that it has sent. It is called before the
	// player asks for the counters of lnet_selftest, because the player is faster than the recorded
	// host. It may be nil.
	Settled func() error
	// Commanded waits until the node's console of lnet_selftest has done the commands that were
	// given. It is called before the player sends a request to the framework of the node, if all
	// requests of the node are answered: the commands also change the node itself, and the recorded
	// request came after that. It may be nil.
	Commanded func() error
	// AnyPort allows the node to connect from other ports than in the recording.
	AnyPort bool
	// AnyOrder allows the node to open connections of different types in another order than in the
	// recording.
	AnyOrder bool

	Differences
	events     []Event      // events of the script, in the order in which they are played
	conns      []*conn      // by index in Script.Conns: the connection in this run
	operations []int        // indices of the events of operations that are not started yet
	begun      int          // number of operations that were started
	operated   bool         // Operate has been called at least once
	early      map[int]bool // events whose data was received before their turn

	discovering bool // an operation was started that makes the node discover the player
}

// side returns which end of a connection the player plays.
func (p *Player) side(conn int) Side {
	if p.Script.Conns[conn].Ends[Acceptor].Addr() == p.Host {
		return Acceptor
	}
	return Initiator
}

// Play plays the script to its end and returns the first difference.
// Afterwards all connections are closed.
func (p *Player) Play(ctx context.Context) error {
	p.conns = make([]*conn, len(p.Script.Conns))
	p.operations = p.Script.Operations(p.node())
	p.early = make(map[int]bool)
	p.events = slices.Clone(p.Script.Events)
	defer p.close()
	for i := range p.events {
		err := p.event(ctx, i)
		if gone(err) && p.endsNext(i) {
			continue // a later event, for which awaitEnd is called, checks how the connection ends
		}
		if e := p.events[i]; err != nil {
			return fmt.Errorf("event %d, %v of the %v on connection %d: %w", i, e.Kind, e.From, e.Conn, err)
		}
	}
	return p.rest()
}

// node returns the address of the node.
func (p *Player) node() netip.Addr {
	if len(p.Script.Conns) == 0 {
		return netip.Addr{}
	}
	return p.Script.Conns[0].Ends[p.side(0).Other()].Addr()
}

// gone reports whether an error means that the other side has closed the connection.
func gone(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

func (p *Player) event(ctx context.Context, i int) error {
	e := p.events[i]
	if e.Kind == Open {
		return p.open(ctx, i)
	}
	c := p.conns[e.Conn]
	pause := e.At - c.last
	c.last = e.At
	own := e.From == p.side(e.Conn)
	switch {
	case e.Kind == Data && own:
		return p.send(c, e)
	case e.Kind == Data:
		return p.data(c, i, pause)
	case own:
		return p.end(c, i)
	}
	if p.Shutdown != nil {
		p.Shutdown()
		p.Shutdown = nil
	}
	c.ended[e.From] = true
	if e.Reset {
		c.ended[e.From.Other()] = true
	}
	return c.awaitEnd(pause, p.patience())
}

func (p *Player) patience() time.Duration { return cmp.Or(p.Patience, patience) }

// open opens a connection, or accepts the one that the node opens.
func (p *Player) open(ctx context.Context, i int) error {
	e := p.events[i]
	recorded := p.Script.Conns[e.Conn]
	if p.side(e.Conn) == Acceptor {
		return p.accept(i)
	}
	c, err := p.Dial(ctx, recorded.Ends[Initiator], recorded.Ends[Acceptor])
	switch {
	case recorded.Refused && errors.Is(err, syscall.ECONNREFUSED):
		return nil
	case err != nil:
		return err
	}
	p.conns[e.Conn] = newConn(c, Acceptor, e.At)
	return nil
}

// accept accepts a connection that the node opens.
func (p *Player) accept(i int) error {
	if p.Script.Conns[p.events[i].Conn].Refused {
		_ = p.Listener.Close()
		p.operate(nil)
		return nil
	}
	if !p.operated {
		p.operateNext()
	}
	deadline := time.Now().Add(p.patience())
	_ = p.Listener.SetDeadline(deadline) // if this fails, AcceptTCP fails too
	tcp, err := p.Listener.AcceptTCP()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoConn, err)
	}
	c := newConn(tcp, Initiator, p.events[i].At)
	if p.AnyOrder {
		p.reorder(i, c.peekHello(deadline))
	}
	e := p.events[i]
	p.conns[e.Conn] = c
	from := c.RemoteAddr().(*net.TCPAddr).AddrPort()
	if want := p.Script.Conns[e.Conn].Ends[Initiator]; !p.AnyPort && from != want {
		return fmt.Errorf("%w: %v, want %v", ErrSourcePort, from, want)
	}
	return nil
}

// send sends the bytes that the recorded host sent.
func (p *Player) send(c *conn, e Event) error {
	b := e.Data
	if e.Record != nil {
		if p.Settled != nil && asksCounters(e.Record) {
			if err := p.Settled(); err != nil {
				return err
			}
		}
		if p.Commanded != nil && asksFramework(e.Record) && len(p.unanswered) == 0 {
			if err := p.Commanded(); err != nil {
				return err
			}
		}
		b = p.Substitute(e.Record)
	}
	_, err := c.Write(b)
	if err == nil && p.Established != nil && p.carries(e) {
		c.carries = true
		err = p.Established(p.carriers())
	}
	return err
}

// carries reports whether an event is the player's HELLO on a connection that the node has
// opened, and on which the node later sends messages. Until the node has received that HELLO it
// sends messages on another connection, as kernel nodes do.
func (p *Player) carries(hello Event) bool {
	if hello.Record == nil || hello.Record.Kind != capture.Hello || p.side(hello.Conn) != Acceptor {
		return false
	}
	return slices.ContainsFunc(p.events, func(e Event) bool {
		return e.Conn == hello.Conn && e.From != hello.From && e.Record != nil && e.Record.Kind == capture.Message
	})
}

// carriers returns the number of connections on which the node sends messages.
func (p *Player) carriers() (n int) {
	for _, c := range p.conns {
		if c != nil && c.carries && c.ended == [2]bool{} {
			n++
		}
	}
	return n
}

// end closes a connection as the recorded host did. Until then, the node must keep the
// connection open, unless mayEndFirst allows otherwise.
func (p *Player) end(c *conn, i int) error {
	e := p.events[i]
	if !c.ended[e.From.Other()] {
		err := c.quiet()
		if err != nil && !(errors.Is(err, ErrClosed) && p.mayEndFirst(i)) {
			return err
		}
	}
	c.ended[e.From] = true
	if !e.Reset {
		// An error means that the node has reset the connection, which is allowed.
		_ = c.CloseWrite()
		return nil
	}
	c.ended[e.From.Other()] = true
	_ = c.SetLinger(0)
	return c.Close()
}

// data receives the data of event i from the node and compares it with the recording.
func (p *Player) data(c *conn, i int, pause time.Duration) error {
	e := p.events[i]
	if len(p.operations) > 0 && (p.operations[0] == i || p.discovers(e)) {
		p.operateNext()
	}
	if p.early[i] {
		return nil
	}
	deadline := time.Now().Add(pause + p.patience())
	if e.Record == nil {
		return c.bytes(e.Data, deadline)
	}
	for {
		got, err := c.record(deadline)
		if err != nil {
			return fmt.Errorf("%w: %w: %s is missing%s", ErrSilent, err, e.Record.Type(), p.elsewhere(e.Conn))
		}
		got = p.takeAck(i, got)
		next := i
		if p.early[i] { // the zero-copy ACK of this recorded NOOP has come in a message
			next = p.following(i)
			p.early[next] = true
		}
		if other, ok := p.swapped(next, got); ok {
			p.early[other] = true
			if err := p.Check(p.events[other].Record, got); err != nil {
				return fmt.Errorf("event %d comes early: %w", other, err)
			}
			if next != i {
				p.early[next] = false
				return nil
			}
			continue
		}
		return p.Check(p.events[next].Record, got)
	}
}

// elsewhere describes unexpected data on connections other than the one on which data is
// missing.
func (p *Player) elsewhere(conn int) (text string) {
	for i, c := range p.conns {
		if i == conn || c == nil || c.ended[c.framer.Side] {
			continue
		}
		if err := c.quiet(); err != nil {
			text += fmt.Sprintf("; connection %d: %v", i, err)
		}
	}
	return text
}

// rest checks that the node sends nothing more and opens no further connection.
func (p *Player) rest() error {
	for i, c := range p.conns {
		if c == nil || c.ended[c.framer.Side] {
			continue
		}
		if err := c.quiet(); err != nil {
			return fmt.Errorf("connection %d, at the end: %w", i, err)
		}
	}
	if p.Listener == nil {
		return nil
	}
	_ = p.Listener.SetDeadline(time.Now().Add(quiet))
	c, err := p.Listener.Accept()
	if err == nil {
		_ = c.Close()
		return fmt.Errorf("%w: from %v", ErrExtraConn, c.RemoteAddr())
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, net.ErrClosed) {
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
