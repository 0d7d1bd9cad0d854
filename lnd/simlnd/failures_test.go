package simlnd

import (
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/link"
	"ulnet/lnd/sim"
)

// count returns how many of the errors in a list are of this kind.
func count(list []error, kind error) (n int) {
	for _, err := range list {
		if errors.Is(err, kind) {
			n++
		}
	}
	return n
}

// TestFailures: ten messages are sent after the receiver has failed. The test checks with which
// error each ends at the sender, and when PeerDown is called, and with which cause.
func TestFailures(t *testing.T) {
	for _, tt := range []struct {
		name     string
		open     bool // whether a connection is open before the failure
		fail     func(n *net)
		ended    error // error with which the messages are finalized
		cause    error // cause given to PeerDown
		notUntil time.Duration
		within   time.Duration
	}{
		{name: "never started process", fail: func(n *net) { n.Kill(1) }, ended: syscall.ECONNREFUSED, cause: syscall.ECONNREFUSED, within: 3 * time.Millisecond},
		{name: "dead process", open: true, fail: func(n *net) { n.Kill(1) }, cause: syscall.ECONNRESET, within: 3 * time.Millisecond},
		{name: "dead host", fail: func(n *net) { n.Crash(1) }, ended: syscall.ETIMEDOUT, cause: syscall.ETIMEDOUT, notUntil: 9 * time.Second, within: 11 * time.Second},
		{name: "host dies", open: true, fail: func(n *net) { n.Crash(1) }, cause: syscall.ETIMEDOUT, notUntil: 9 * time.Second, within: 11 * time.Second},
		{name: "long pause", open: true, fail: func(n *net) { n.Pause(1) }, cause: syscall.ETIMEDOUT, notUntil: 9 * time.Second, within: 11 * time.Second},
		{name: "cut", open: true, fail: func(n *net) { n.Cut(sim.Nodes(0), sim.Nodes(1)) }, cause: syscall.ETIMEDOUT, notUntil: 9 * time.Second, within: 11 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := newNet(t, 2, millisecond(), 0)
			a := n.ends[0]
			if tt.open {
				n.send(0, 1, 1000, 1, 10)
				n.run(time.Minute)
			}
			tt.fail(n)
			before := len(a.ended)
			n.send(0, 1, 0, 10, 100)
			n.run(tt.notUntil)
			if tt.notUntil > 0 && len(a.causes) > 0 {
				t.Errorf("down %v too early", a.causes)
			}
			n.run(tt.within - tt.notUntil)
			ended := a.ended[before:]
			if len(ended) != 10 || count(ended, tt.ended) != 10 && tt.ended != nil || tt.ended == nil && count(ended, nil) != 10 {
				t.Errorf("messages ended with %v, want 10 times %v", ended, tt.ended)
			}
			if !slices.Equal(a.causes, []error{tt.cause}) {
				t.Errorf("PeerDown %v, want %v once", a.causes, tt.cause)
			}
		})
	}
}

// TestQuietPeerStaysUp: a peer that only receives is probed, and stays up.
func TestQuietPeerStaysUp(t *testing.T) {
	n := newNet(t, 2, link.Quality{Latency: link.Dist{Base: time.Millisecond}, Loss: 0.2}, 0)
	for i := range 20 {
		n.send(0, 1, i, 1, 10)
		n.run(7 * time.Second)
	}
	if a := n.ends[0]; len(a.causes) > 0 || a.up != 1 {
		t.Errorf("up %d times, down %v", a.up, a.causes)
	}
}

// TestIdleIsSilent: when all messages are acknowledged, no packet and no timer is left.
func TestIdleIsSilent(t *testing.T) {
	n := newNet(t, 2, millisecond(), 0)
	n.send(0, 1, 0, 5, 100)
	n.run(time.Minute)
	before := n.Stats()
	n.run(time.Hour)
	if after := n.Stats(); after.Events != before.Events {
		t.Errorf("%d events in an idle hour", after.Events-before.Events)
	}
}

// TestIncarnations: messages to an earlier incarnation of a host, or of an earlier incarnation of
// their sender, are not delivered.
func TestIncarnations(t *testing.T) {
	n := newNet(t, 2, millisecond(), 0)
	n.send(0, 1, 1, 1, 10)
	n.run(time.Minute)
	// The message is on its way while the receiver dies and starts again.
	n.send(0, 1, 2, 1, 10)
	n.run(500 * time.Microsecond)
	n.Kill(1)
	n.Start(1, false)
	n.run(time.Second)
	if got := n.ends[1].got; len(got) > 0 {
		t.Errorf("the new life got %v", got)
	}
	if !slices.Equal(n.ends[0].causes, []error{syscall.ECONNRESET}) {
		t.Errorf("down %v, want a reset", n.ends[0].causes)
	}
	// Sender and receiver make a new connection.
	n.send(0, 1, 3, 1, 10)
	n.run(time.Second)
	if got := n.ends[1].got; !slices.Equal(got, []uint64{3}) {
		t.Errorf("the new life got %v, want 3", got)
	}
	// The sender is restarted while a message of its earlier incarnation waits at the receiver, which
	// is paused.
	n.Pause(1)
	n.send(0, 1, 4, 1, 10)
	n.run(time.Second)
	n.Crash(0)
	n.Start(0, false)
	n.send(0, 1, 5, 1, 10)
	n.run(time.Second)
	n.Resume(1)
	n.run(time.Minute)
	if got := n.ends[1].got; !slices.Equal(got, []uint64{3, 4, 5}) {
		t.Errorf("got %v, want 4 of the connection that had not ended, then 5", got)
	}
	if len(n.ends[1].causes) != 1 {
		t.Errorf("down %v, want once: the new connection ends the old one", n.ends[1].causes)
	}
}

// TestGivenUp: after a partition in which one side has given up the connection, messages that
// the other side still sends on it are not delivered.
func TestGivenUp(t *testing.T) {
	n := newNet(t, 2, millisecond(), 0)
	n.send(0, 1, 1, 1, 10)
	n.send(1, 0, 1, 1, 10)
	n.run(time.Minute)
	n.Partition(sim.Nodes(0), sim.Nodes(1))
	n.send(0, 1, 2, 1, 10)
	n.run(30 * time.Second)
	n.Heal()
	n.send(1, 0, 3, 1, 10) // host 1 still has its connection
	n.run(time.Second)
	if got := n.ends[0].got; !slices.Equal(got, []uint64{1}) {
		t.Errorf("got %v on a connection that was given up", got)
	}
	n.send(1, 0, 4, 1, 10)
	n.run(time.Second)
	if got := n.ends[0].got; !slices.Equal(got, []uint64{1, 4}) {
		t.Errorf("got %v, want 1 and 4", got)
	}
}

// TestShutdown: Shutdown sends the messages that wait on an open connection, and the peer is told
// that the connection has ended.
func TestShutdown(t *testing.T) {
	n := newNet(t, 2, millisecond(), 1000)
	n.send(0, 1, 0, 1, 10)
	n.run(time.Second)
	n.send(0, 1, 1, 50, 500)
	n.send(0, 7, 51, 1, 10)
	n.run(0)
	n.Do(0, func(*Host) {
		if err := n.ends[0].ni.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		n.ends[0].ni.Send(message(0, 1, 99, 1))
	})
	n.run(time.Second)
	a, b := n.ends[0], n.ends[1]
	if len(b.got) != 51 || len(a.ended) != 53 || count(a.ended, nil) != 51 || count(a.ended, syscall.ESHUTDOWN) != 1 {
		t.Errorf("%d arrived, %d ended, %v", len(b.got), len(a.ended), a.ended[51:])
	}
	if !slices.Equal(b.causes, []error{syscall.ECONNRESET}) {
		t.Errorf("the peer was told %v", b.causes)
	}
}

// TestHeldAtTheEnd: a connection ends while lnet holds one of its messages. The driver abandons the
// held message, and does not deliver the messages behind it.
func TestHeldAtTheEnd(t *testing.T) {
	n := newNet(t, 2, millisecond(), 0)
	b := n.ends[1]
	b.hold = func(uint64) bool { return true }
	n.send(0, 1, 1, 3, 10)
	n.run(time.Second)
	n.Kill(0)
	n.run(time.Second)
	if len(b.held) > 0 || len(b.got) > 0 {
		t.Errorf("held %d, got %v", len(b.held), b.got)
	}
	n.Start(0, false)
	b.hold = nil
	n.send(0, 1, 4, 1, 10)
	n.run(time.Second)
	if !slices.Equal(b.got, []uint64{4}) {
		t.Errorf("got %v, want 4 alone", b.got)
	}
}

var _ lnd.Upcalls = (*end)(nil)

// TestLateNews: the news that a process died comes after messages to its next incarnation,
// and does not end the connection to that incarnation.
func TestLateNews(t *testing.T) {
	n := newNet(t, 2, millisecond(), 0)
	n.send(0, 1, 1, 1, 10)
	n.run(time.Minute)
	n.SetLink(sim.Nodes(1), sim.Nodes(0), link.Change{
		Fields: link.FieldLatency, To: link.Quality{Latency: link.Dist{Base: 100 * time.Millisecond}},
	})
	n.Kill(1)
	n.ResetLinks()
	n.Start(1, false)
	n.send(1, 0, 2, 1, 10)
	n.run(50 * time.Millisecond)
	n.send(0, 1, 3, 1, 10)
	n.run(time.Second)
	n.send(0, 1, 4, 1, 10)
	n.run(time.Second)
	if a := n.ends[0]; !slices.Equal(a.causes, []error{syscall.ECONNRESET}) || a.up != 2 {
		t.Errorf("up %d times, down %v; want twice, and a reset", a.up, a.causes)
	}
	if got := n.ends[1].got; !slices.Equal(got, []uint64{3, 4}) {
		t.Errorf("the new life got %v, want 3 and 4", got)
	}
}

// TestForeignPackets: a packet with the number of another connection, at either end, is not
// delivered, and a late packetOpen of an earlier connection does not end a newer one.
func TestForeignPackets(t *testing.T) {
	n := newNet(t, 2, millisecond(), 0)
	n.send(0, 1, 1, 1, 10)
	n.run(time.Minute)
	p := n.ends[1].ni.(*ni).peers[peerKey{}]
	for name, pk := range map[string]*packet{
		"their other name": {kind: packetData, net: Net, src: p.theirs + 1, dst: p.mine},
		"our other name":   {kind: packetData, net: Net, src: p.theirs, dst: p.mine + 1},
		"an old opening":   {kind: packetOpen, net: Net, src: p.theirs - 1},
		"an old reset":     {kind: packetReset, net: Net, dst: p.mine + 1},
	} {
		n.ends[1].h.receive(0, pk)
		if b := n.ends[1]; len(b.got) != 1 || len(b.causes) > 0 || b.up != 1 {
			t.Errorf("%s: got %v, up %d times, down %v", name, b.got, b.up, b.causes)
		}
	}
}

// TestLostTail: the last message is lost, so no later packet shows the receiver that it was sent. The
// answer to a packetAsk tells the sender that its bytes are no longer on their way: then no packet and no
// timer is left.
func TestLostTail(t *testing.T) {
	n := newNet(t, 2, millisecond(), 0)
	n.send(0, 1, 1, 1, 10)
	n.run(time.Minute)
	n.Cut(sim.Nodes(0), sim.Nodes(1))
	n.send(0, 1, 2, 1, 10)
	n.run(time.Second)
	n.Heal()
	n.run(time.Minute)
	before := n.Stats().Events
	n.run(time.Hour)
	if after := n.Stats().Events; after != before {
		t.Errorf("%d events in an idle hour", after-before)
	}
	if a := n.ends[0]; len(a.causes) > 0 {
		t.Errorf("down %v", a.causes)
	}
}
