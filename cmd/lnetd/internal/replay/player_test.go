package replay_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"ulnet/cmd/lnetd/internal/replay"
	"ulnet/lnd/capture"
)

// The hosts of scripts with one connection.
var (
	dialler, listener = netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	conns             = []replay.Conn{{Ends: [2]netip.AddrPort{netip.AddrPortFrom(dialler, 1023), netip.AddrPortFrom(listener, 988)}}}
)

// listen returns a listener on loopback.
func listen(t *testing.T) *net.TCPListener {
	t.Helper()
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// patience returns the patience of a player: short if the wanted error is that the node does nothing.
func patience(want error) time.Duration {
	if errors.Is(want, replay.ErrOpen) || errors.Is(want, replay.ErrNoConn) {
		return 3 * time.Second
	}
	return 0
}

// TestPlayInitiator plays a script in which one side sends "hello", the other side sends
// "world", and both close the connection. It plays the script against a correct node and against
// incorrect ones.
func TestPlayInitiator(t *testing.T) {
	const pause = time.Minute
	for _, test := range []struct {
		name  string
		pause bool // the node waits before it closes the connection
		node  func(*net.TCPConn)
		want  error
	}{
		{"right", false, func(c *net.TCPConn) { io.WriteString(c, "world") }, nil},
		{"in pieces", false, func(c *net.TCPConn) { io.WriteString(c, "wor"); io.WriteString(c, "ld") }, nil},
		{"resets", false, func(c *net.TCPConn) { io.WriteString(c, "world"); c.SetLinger(0) }, nil},
		{"other bytes", false, func(c *net.TCPConn) { io.WriteString(c, "words") }, replay.ErrDiffers},
		{"too little", false, func(c *net.TCPConn) { io.WriteString(c, "wor") }, replay.ErrSilent},
		{"too much", false, func(c *net.TCPConn) { io.WriteString(c, "worlds") }, replay.ErrExtra},
		{"too early", true, func(c *net.TCPConn) { io.WriteString(c, "world") }, replay.ErrClosed},
		{"stays open", false, func(c *net.TCPConn) { io.WriteString(c, "world"); io.ReadAll(c) }, replay.ErrOpen},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := listen(t)
			go func() {
				c, err := l.AcceptTCP()
				if err != nil {
					return
				}
				defer c.Close()
				io.ReadFull(c, make([]byte, 5))
				test.node(c)
			}()
			end := time.Duration(0)
			if test.pause {
				end = pause
			}
			p := replay.Player{
				Script: &replay.Script{
					Conns: conns,
					Events: []replay.Event{
						{Kind: replay.Open},
						{Kind: replay.Data, From: replay.Initiator, Data: []byte("hello")},
						{Kind: replay.Data, From: replay.Acceptor, Data: []byte("world")},
						{Kind: replay.Closed, From: replay.Acceptor, At: end},
						{Kind: replay.Closed, From: replay.Initiator, At: end},
					},
				},
				Host: dialler, Patience: patience(test.want),
				Dial: func(ctx context.Context, _, _ netip.AddrPort) (*net.TCPConn, error) {
					return replay.DialFrom(ctx, netip.MustParseAddrPort("127.0.0.1:0"), l.Addr().(*net.TCPAddr).AddrPort())
				},
			}
			if err := p.Play(t.Context()); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

// TestPlayAcceptor plays the other side of the script of TestPlayInitiator, against a node that
// connects once, sends "hello" and keeps the connection open.
func TestPlayAcceptor(t *testing.T) {
	dialled := func(addr string) net.Conn {
		c, err := net.Dial("tcp4", addr)
		if err != nil {
			t.Error(err)
		}
		return c
	}
	for _, test := range []struct {
		name string
		node func(addr string)
		want error
	}{
		{"right", func(addr string) { c := dialled(addr); io.WriteString(c, "hello"); t.Cleanup(func() { c.Close() }) }, nil},
		{"dials twice", func(addr string) {
			c, d := dialled(addr), dialled(addr)
			io.WriteString(c, "hello")
			t.Cleanup(func() { c.Close(); d.Close() })
		}, replay.ErrExtraConn},
		{"closes", func(addr string) { c := dialled(addr); io.WriteString(c, "hello"); c.Close() }, replay.ErrClosed},
		{"does not dial", func(string) {}, replay.ErrNoConn},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := listen(t)
			operated := 0
			p := replay.Player{
				Script: &replay.Script{
					Conns: conns,
					Events: []replay.Event{
						{Kind: replay.Open},
						{Kind: replay.Data, From: replay.Initiator, Data: []byte("hello")},
					},
				},
				Host: listener, Listener: l, AnyPort: true, Patience: patience(test.want),
				Operate: func(*capture.Record) { operated++; test.node(l.Addr().String()) },
			}
			if err := p.Play(t.Context()); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if operated != 1 {
				t.Errorf("Operate was called %d times", operated)
			}
		})
	}
}

func TestPlaySourcePort(t *testing.T) {
	l := listen(t)
	p := replay.Player{
		Script: &replay.Script{
			Conns:  conns,
			Events: []replay.Event{{Kind: replay.Open}},
		},
		Host: listener, Listener: l,
		Operate: func(*capture.Record) {
			if c, err := net.Dial("tcp4", l.Addr().String()); err == nil {
				t.Cleanup(func() { c.Close() })
			}
		},
	}
	if err := p.Play(t.Context()); !errors.Is(err, replay.ErrSourcePort) {
		t.Errorf("got %v, want %v", err, replay.ErrSourcePort)
	}
}
