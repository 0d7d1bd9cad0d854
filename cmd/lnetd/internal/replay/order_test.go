package replay_test

import (
	"errors"
	"io"
	"net"
	"slices"
	"testing"

	"ulnet/cmd/lnetd/internal/replay"
	"ulnet/lnd/capture"
)

// openings returns the events of a recording until all connections are open.
func openings(t *testing.T, name string) *replay.Script {
	t.Helper()
	s := load(t, name).Records()
	s.Events = slices.DeleteFunc(s.Events, func(e replay.Event) bool {
		return e.Kind == replay.Closed || e.Record != nil && e.Record.Kind == capture.Message
	})
	return s
}

// dialInOrder opens the recorded connections in the given order, one after the other: each is
// opened when the previous one is complete.
func dialInOrder(s *replay.Script, addr string, order []int) error {
	for _, conn := range order {
		c, err := net.Dial("tcp4", addr)
		if err != nil {
			return err
		}
		defer c.Close()
		for _, e := range s.Events {
			switch {
			case e.Conn != conn || e.Kind != replay.Data:
			case e.From == replay.Initiator:
				_, err = c.Write(e.Data)
			default:
				_, err = io.ReadFull(c, make([]byte, len(e.Data)))
			}
			if err != nil {
				return err
			}
		}
		if conn == order[len(order)-1] { // the last connection stays open until the player ends
			_, _ = c.Read(make([]byte, 1))
		}
	}
	return nil
}

// TestPlayOrder plays against a node that opens its connections in the recorded order, and
// against one that opens them in another order.
func TestPlayOrder(t *testing.T) {
	for _, test := range []struct {
		name     string
		order    []int
		anyOrder bool
		want     error
	}{
		{"recorded", []int{0, 1, 2}, false, nil},
		{"recorded, any", []int{0, 1, 2}, true, nil},
		{"swapped", []int{0, 2, 1}, false, replay.ErrDiffers},
		{"swapped, any", []int{0, 2, 1}, true, nil},
		{"last first", []int{2, 0, 1}, true, nil},
		{"one twice", []int{0, 0, 1}, true, replay.ErrDiffers},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, l := openings(t, "tcp-ping"), listen(t)
			node := make(chan error, 1)
			p := replay.Player{
				Script: s, Host: s.Conns[0].Ends[replay.Acceptor].Addr(), Listener: l, AnyPort: true, AnyOrder: test.anyOrder,
				Operate: func(*capture.Record) { go func() { node <- dialInOrder(s, l.Addr().String(), test.order) }() },
			}
			if err := p.Play(t.Context()); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if err := <-node; err != nil && test.want == nil {
				t.Errorf("node: %v", err)
			}
		})
	}
}
