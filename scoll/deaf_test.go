package scoll_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
	"ulnet/portals/portalstest"
	"ulnet/scoll"
	scollwire "ulnet/scoll/wire"
)

// siege is an agent whose requests come from nodes that read no refusal.
type siege struct {
	t      *testing.T
	agent  *scoll.Agent
	node   *lnet.Node
	driver *portalstest.Unread
	header scollwire.RequestHeader
}

func newSiege(t *testing.T) *siege {
	t.Helper()
	node := lnet.New(lnet.Config{Incarnation: 1, Clock: machine.RealClock()})
	table, driver := portals.New(node), &portalstest.Unread{ID: wireNID(0)}
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
	s.askAs(nid.ProcessID{NID: from, PID: nid.LustrePID}, n)
}

// askAs lets n requests of a process arrive.
func (s *siege) askAs(from nid.ProcessID, n int) {
	s.t.Helper()
	for range n {
		s.header.Sequence++
		d := &lnd.Delivery{From: from}
		d.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), Portal: scollwire.RequestPortal})
		s.driver.Arrive(s.t, from.NID, d, s.header.AppendTo(nil))
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

// TestDeafCrowd (SC-163): many nodes send requests that are refused, and read no refusal. Then at most 32 refusals
// wait for a further node. If either the crowd or that node are strangers, but not both, as many wait for it as
// without the crowd: 1024.
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

// TestOtherProcess (SC-63): a program of a user on a member's host has the member's NID and another PID. The agent drops
// its requests and answers none of them.
func TestOtherProcess(t *testing.T) {
	spec.Covers(t, "SC-63")
	s := newSiege(t)
	s.askAs(nid.ProcessID{NID: wireNID(1), PID: nid.UserPID | 4711}, 2)
	s.askAs(nid.ProcessID{NID: wireNID(1), PID: 7}, 1)
	if dropped, n := s.agent.Stats().OtherProcess, s.waiting()[wireNID(1)]; dropped != 3 || n != 0 {
		t.Errorf("%d messages of other processes are dropped, %d refusals wait; want 3, 0", dropped, n)
	}
	s.ask(wireNID(1), 1)
	if dropped, n := s.agent.Stats().OtherProcess, s.waiting()[wireNID(1)]; dropped != 3 || n != 1 {
		t.Errorf("after a request of the member %d messages are dropped, %d refusals wait; want 3, 1", dropped, n)
	}
}
