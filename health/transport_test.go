package health

import (
	"context"
	"sync"
	"testing"

	"ulnet/health/wire"
	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// sink is a driver that keeps each message and never reports it as sent.
type sink struct {
	up lnd.Upcalls

	mu   sync.Mutex // lnet may send from a timer of its own
	held []*lnd.Message
}

func (*sink) Type() nid.NetType { return nid.TCP }

func (s *sink) Startup(_ lnd.Config, up lnd.Upcalls) (lnd.NI, error) { s.up = up; return s, nil }

func (*sink) NID() nid.NID { return nid.MustParse("10.0.0.1@tcp") }

func (s *sink) Send(m *lnd.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = append(s.held, m)
}

func (s *sink) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.held)
}

// next takes the oldest message; nil: there is none.
func (s *sink) next() *lnd.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.held) == 0 {
		return nil
	}
	m := s.held[0]
	s.held = s.held[1:]
	return m
}

func (*sink) Recv(*lnd.Delivery) {}

func (*sink) Shutdown(context.Context) error { return nil }

// newTransport returns a transport whose messages go to a sink.
func newTransport(t *testing.T) (*transport, *sink) {
	t.Helper()
	node, net := lnet.New(lnet.Config{Clock: machine.RealClock()}), new(sink)
	tr := &transport{table: portals.New(node), self: net.NID()}
	cfg := lnd.Config{Net: nid.MustParseNet("tcp"), Tunables: lnd.Tunables{PeerCredits: 128, Credits: 256}}
	if _, err := node.AddNI(net, cfg); err != nil {
		t.Fatal(err)
	}
	tr.begin()
	return tr, net
}

// TestSendingIsBounded: goal G-CH-1: messages to peers that do not accept them hold at most
// maxSending bytes. Further messages are dropped and counted until one of the earlier ones is
// finished.
func TestSendingIsBounded(t *testing.T) {
	spec.Covers(t, "CH-73", "G-CH-1")
	tr, net := newTransport(t)
	message := make([]byte, portals.MaxPayload)
	send := func() { tr.send(nid.ProcessID{NID: nid.MustParse("10.0.0.2@tcp")}, wire.ServerPortal, message) }
	for range maxSending / len(message) {
		send()
	}
	if n := tr.outbox.InFlight(); n != maxSending || tr.outbox.NotSent() != 0 {
		t.Fatalf("%d bytes on their way, want %d; %d messages not sent", n, maxSending, tr.outbox.NotSent())
	}
	send()
	if n := tr.outbox.NotSent(); n != 1 {
		t.Errorf("%d messages not sent, want 1", n)
	}
	net.up.Finalize(net.next(), nil)
	send()
	if n := tr.outbox.NotSent(); n != 1 {
		t.Error("nothing may be sent though one has left")
	}
	for m := net.next(); m != nil; m = net.next() {
		net.up.Finalize(m, nil)
	}
	if n := tr.outbox.InFlight(); n != 0 {
		t.Errorf("%d bytes on their way in the end", n)
	}
}

// TestDeafNode: a node reads none of the messages to it. At most maxToPeer messages to it are kept, and messages to
// other nodes are still sent.
func TestDeafNode(t *testing.T) {
	spec.Covers(t, "CH-73")
	tr, net := newTransport(t)
	send := func(to string) {
		tr.send(nid.ProcessID{NID: nid.MustParse(to)}, wire.ServerPortal, make([]byte, 100))
	}
	for range maxToPeer + 10 {
		send("10.0.0.2@tcp")
	}
	if n := tr.outbox.NotSent(); n != 10 {
		t.Errorf("%d messages not sent, want 10", n)
	}
	before := net.count()
	send("10.0.0.3@tcp")
	if net.count() != before+1 || tr.outbox.NotSent() != 10 {
		t.Error("a message to another node is not sent")
	}
	for m := net.next(); m != nil; m = net.next() {
		net.up.Finalize(m, nil)
	}
	if n := tr.outbox.InFlight(); n != 0 {
		t.Errorf("%d bytes on their way in the end", n)
	}
}

// TestDeafCrowd: many nodes read none of the messages to them. At least ownToPeer messages can be sent to any other node.
func TestDeafCrowd(t *testing.T) {
	spec.Covers(t, "CH-73")
	tr, _ := newTransport(t)
	send := func(n, times int) {
		to := nid.ProcessID{NID: nid.FromNumber(nid.MustParseNet("tcp"), uint32(10<<24+n))}
		for range times {
			tr.send(to, wire.ServerPortal, make([]byte, wire.HeaderSize+wire.TokenSize))
		}
	}
	const crowd = 100
	for n := range crowd {
		send(1000+n, maxToPeer)
	}
	before := tr.outbox.NotSent()
	for n := range 1000 {
		send(2000+n, ownToPeer)
	}
	if n := tr.outbox.NotSent() - before; n != 0 {
		t.Errorf("%d of %d messages to nodes beside the crowd are not sent", n, 1000*ownToPeer)
	}
	if n := tr.outbox.InFlight(); n > maxSending {
		t.Errorf("%d bytes on their way", n)
	}
}
