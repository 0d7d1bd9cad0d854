package scoll_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
	"ulnet/scoll"
	scollwire "ulnet/scoll/wire"
)

// unread is a driver none of whose peers reads anything: a message stays in it until the end.
type unread struct {
	up     lnd.Upcalls
	mu     sync.Mutex
	closed bool // guarded by mu, like held
	held   []*lnd.Message
}

func (*unread) Type() nid.NetType { return nid.GNI }

func (u *unread) Startup(_ lnd.Config, up lnd.Upcalls) (lnd.NI, error) { u.up = up; return u, nil }

func (*unread) NID() nid.NID { return wireNID(0) }

func (u *unread) Send(m *lnd.Message) {
	u.mu.Lock()
	closed := u.closed
	if !closed {
		u.held = append(u.held, m)
	}
	u.mu.Unlock()
	if closed {
		u.up.Finalize(m, context.Canceled)
	}
}

func (*unread) Recv(*lnd.Delivery) {}

func (u *unread) Shutdown(context.Context) error {
	u.mu.Lock()
	u.closed = true
	held := u.held
	u.held = nil
	u.mu.Unlock()
	for _, m := range held {
		u.up.Finalize(m, context.Canceled)
	}
	return nil
}

// arrive lets a PUT of a peer arrive.
func (u *unread) arrive(t *testing.T, from nid.NID, put wire.PutCmd, payload []byte) {
	t.Helper()
	d := &lnd.Delivery{From: nid.ProcessID{NID: from, PID: nid.LustrePID}}
	d.Header = wire.Header{DestNID: u.NID(), DestPID: nid.LustrePID, SrcNID: from, SrcPID: nid.LustrePID}
	d.Header.SetPut(put)
	d.Header.PayloadLength = uint32(len(payload))
	answer, err := u.up.Parse(d)
	if err != nil || answer != lnd.Accept || d.Dropped {
		t.Fatalf("answer %v, %v, dropped %v", answer, err, d.Dropped)
	}
	for _, s := range d.Sink.Append(nil) {
		payload = payload[copy(s, payload):]
	}
	u.up.Delivered(d, nil)
}

// siege is an agent whose requests come from nodes that read no refusal.
type siege struct {
	t      *testing.T
	agent  *scoll.Agent
	node   *lnet.Node
	driver *unread
	header scollwire.RequestHeader
}

func newSiege(t *testing.T) *siege {
	t.Helper()
	node := lnet.New(lnet.Config{Incarnation: 1, Clock: machine.RealClock()})
	table, driver := portals.New(node), new(unread)
	addNIs(t, table, driver)
	agent, err := scoll.New(table, scoll.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := agent.Close(t.Context()); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		over, cancel := context.WithCancel(context.Background())
		cancel() // so that Shutdown does not wait for messages that no node reads
		_ = node.Shutdown(over)
	})
	return &siege{t: t, agent: agent, node: node, driver: driver, header: scollwire.RequestHeader{
		ReplyBits: 5555, First: 1, RootIncarnation: 1, Service: 77, Nodes: 2,
		Tree: scoll.Tree{Type: scoll.KNomial, K: 2}, RTT: time.Millisecond, Guard: time.Millisecond,
	}}
}

// ask lets n requests of a node arrive that the agent refuses.
func (s *siege) ask(from nid.NID, n int) {
	s.t.Helper()
	put := wire.PutCmd{AckMD: wire.NoHandle(), Portal: scollwire.RequestPortal}
	for range n {
		s.header.Sequence++
		s.driver.arrive(s.t, from, put, s.header.AppendTo(nil))
	}
}

// waiting returns how many refusals wait for each node.
func (s *siege) waiting() map[nid.NID]int {
	n := make(map[nid.NID]int)
	for _, p := range s.node.Snapshot().Peers {
		n[p.NID] = p.MaxCredits - p.Credits
	}
	return n
}

// TestDeafRequester (SC-163): a node sends requests that are refused, and reads no refusal. No more than 1024
// refusals wait for it, and another node gets its refusal.
func TestDeafRequester(t *testing.T) {
	spec.Covers(t, "SC-163")
	s := newSiege(t)
	s.ask(wireNID(1), 5000)
	if n := s.waiting()[wireNID(1)]; n != 1024 {
		t.Errorf("%d refusals wait, want 1024", n)
	}
	if n := s.agent.Stats().RefusalsUnsent; n != 5000-1024 {
		t.Errorf("%d refusals counted as not sent, want %d", n, 5000-1024)
	}
	s.ask(wireNID(2), 1)
	if s.waiting()[wireNID(2)] == 0 {
		t.Error("the request of another node is not refused")
	}
}

// TestDeafCrowd (SC-163): many nodes send requests that are refused, and read no refusal. Another node of their
// kind gets up to 32 refusals. If the crowd are strangers, a listed node gets as many as without the crowd.
func TestDeafCrowd(t *testing.T) {
	spec.Covers(t, "SC-163")
	for name, c := range map[string]struct {
		listed func(nid.NID) bool
		want   int
	}{
		"no list":   {nil, 32},
		"strangers": {func(id nid.NID) bool { return id == wireNID(1) }, 1024},
		"listed":    {func(id nid.NID) bool { return id != wireNID(1) }, 1024},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSiege(t)
			s.agent.SetListed(c.listed)
			const crowd = 64
			for n := range crowd {
				s.ask(wireNID(10+n), 1024)
			}
			s.ask(wireNID(1), 1024)
			if n := s.waiting()[wireNID(1)]; n != c.want {
				t.Errorf("%d refusals wait for a node beside the crowd, want %d", n, c.want)
			}
			s.ask(wireNID(2), 32)
			if n := s.waiting()[wireNID(2)]; n != 32 {
				t.Errorf("%d refusals wait for a further node of the crowd, want 32", n)
			}
			all := 0
			for _, n := range s.waiting() {
				all += n
			}
			if all > 1<<15+c.want {
				t.Errorf("%d refusals wait", all)
			}
		})
	}
}
