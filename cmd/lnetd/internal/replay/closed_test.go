package replay_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"testing"

	"ulnet/cmd/lnetd/internal/replay"
)

// TestPlayWriteAfterClose plays against a node that has already reset the connection, so that
// the player's write fails. If the recorded node closes the connection next, the player takes
// the failed write for that close. If the recorded node does not, the failed write is a difference.
func TestPlayWriteAfterClose(t *testing.T) {
	own := replay.Event{Kind: replay.Data, From: replay.Initiator, Data: []byte("hello")}
	answer := replay.Event{Kind: replay.Data, From: replay.Acceptor, Data: []byte("world")}
	closed := replay.Event{Kind: replay.Closed, From: replay.Acceptor}
	leaves := replay.Event{Kind: replay.Closed, From: replay.Initiator}
	for _, test := range []struct {
		name   string
		events []replay.Event
		want   error
	}{
		{"node closes", []replay.Event{own, closed, leaves}, nil},
		{"node closes after more data", []replay.Event{own, own, closed, leaves}, nil},
		{"node answers", []replay.Event{own, answer, closed}, syscall.EPIPE},
		{"player closes", []replay.Event{own, leaves, closed}, replay.ErrClosed},
		{"stays open", []replay.Event{own}, syscall.EPIPE},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := listen(t)
			p := replay.Player{
				Script: &replay.Script{
					Conns:  conns,
					Events: append([]replay.Event{{Kind: replay.Open}}, test.events...),
				},
				Host: dialler,
				Dial: func(ctx context.Context, _, _ netip.AddrPort) (*net.TCPConn, error) { return dialReset(ctx, l) },
			}
			if err := p.Play(t.Context()); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

// dialReset returns a connection that the other side has reset. The reset has been received, so
// that each write fails with EPIPE.
func dialReset(ctx context.Context, l *net.TCPListener) (*net.TCPConn, error) {
	c, err := replay.DialFrom(ctx, netip.MustParseAddrPort("127.0.0.1:0"), l.Addr().(*net.TCPAddr).AddrPort())
	if err != nil {
		return nil, err
	}
	node, err := l.AcceptTCP()
	if err != nil {
		return nil, err
	}
	_ = node.SetLinger(0)
	_ = node.Close()
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		return nil, err
	}
	return c, nil
}
