package rmcast_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/lo"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/portals"
	"ulnet/portals/portalstest"
	"ulnet/scoll/rmcast"
	rmwire "ulnet/scoll/rmcast/wire"
)

func deafNID(id int) nid.NID { return nid.FromNumber(nid.MakeNet(nid.GNI, 0), uint32(id)+1) }

// siege is a manager that gets messages of nodes which read no answers; TestDeafChild makes its node a member as well.
type siege struct {
	t      *testing.T
	agent  *rmcast.Agent
	node   *lnet.Node
	driver *portalstest.Unread
	at     time.Duration // what the agent's clock shows
}

// stillClock is a clock that a test sets, and whose timers do not expire.
type stillClock struct{ s *siege }

func (c stillClock) Now() time.Duration { return c.s.at }

func (stillClock) AfterFunc(time.Duration, func()) machine.Timer {
	return ringTimer{time.AfterFunc(time.Hour, func() {})}
}

// newSiege starts the manager. With admit nil it admits all nodes.
func newSiege(t *testing.T, admit []nid.NID) *siege {
	t.Helper()
	s := &siege{t: t, driver: &portalstest.Unread{ID: deafNID(0)}, at: time.Hour}
	s.node = lnet.New(lnet.Config{Incarnation: 1, Clock: machine.RealClock()})
	table := portals.New(s.node)
	for _, d := range []lnd.Driver{lo.Driver{}, s.driver} {
		if _, err := s.node.AddNI(d, lnd.Config{Net: nid.MakeNet(d.Type(), 0)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := discovery.NewTarget(table); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.agent, err = rmcast.New(table, rmcast.Config{Clock: stillClock{s}, Fragment: 64 << 10}); err != nil {
		t.Fatal(err)
	}
	if err := s.agent.Manage(rmcast.ManagerConfig{Group: group, Admit: admit, Fragment: 64 << 10}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.agent.Close(t.Context()); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		over, cancel := context.WithCancel(context.Background())
		cancel() // so that Shutdown does not wait for messages that no node reads
		_ = s.node.Shutdown(over)
	})
	s.at += time.Minute // the search for members of an earlier manager is over
	s.send(deafNID(999), &rmwire.Order{Kind: rmwire.OrderReport, Group: group + 1})
	return s
}

// flood lets an order of a node arrive n times.
func (s *siege) flood(from nid.NID, n int, o rmwire.Order) {
	s.t.Helper()
	for range n {
		s.send(from, &o)
	}
}

// send lets an order of a node arrive.
func (s *siege) send(from nid.NID, o *rmwire.Order) {
	s.t.Helper()
	s.arrive(from, rmwire.ManagerPortal, o.AppendTo(nil))
}

// arrive lets a message of a node arrive.
func (s *siege) arrive(from nid.NID, portal int, payload []byte) {
	s.t.Helper()
	d := new(lnd.Delivery)
	d.Header.SetPut(wire.PutCmd{AckMD: wire.NoHandle(), Portal: uint32(portal)})
	s.driver.Arrive(s.t, from, d, payload)
}

// waiting returns how many messages wait for each node.
func (s *siege) waiting() map[nid.NID]int {
	n := make(map[nid.NID]int)
	for _, p := range s.node.Snapshot().Peers {
		n[p.NID] = p.MaxCredits - p.Credits
	}
	return n
}

// TestDeafStranger (RM-38): a node that is not, or not any more, a member sends messages that the manager refuses, and
// reads no answer. No more than 1024 answers wait for it, and another node gets its answer.
func TestDeafStranger(t *testing.T) {
	spec.Covers(t, "RM-38")
	listed := []nid.NID{deafNID(2)}
	for name, c := range map[string]struct {
		admit []nid.NID
		order rmwire.Order
	}{
		"not admitted": {listed, rmwire.Order{Kind: rmwire.OrderReport}},
		"join":         {listed, rmwire.Order{Kind: rmwire.OrderJoin, Incarnation: 1}},
		"no list":      {nil, rmwire.Order{Kind: rmwire.OrderReport, Incarnation: 1}},
		"ahead":        {nil, rmwire.Order{Kind: rmwire.OrderReport, Incarnation: 1, Epoch: 1 << 63}},
		"claim":        {nil, rmwire.Order{Kind: rmwire.OrderReport, Incarnation: 1, Epoch: uint64(12 * time.Hour)}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSiege(t, c.admit)
			c.order.Group = group
			if name == "claim" { // a manager that has a list keeps its epoch
				s.send(deafNID(7), &rmwire.Order{Kind: rmwire.OrderJoin, Group: group, Incarnation: 1})
			}
			s.flood(deafNID(1), 5000, c.order)
			if n := s.waiting()[deafNID(1)]; n != 1024 {
				t.Errorf("%d answers wait, want 1024", n)
			}
			if n := s.agent.RefusalsUnsent(); n != 5000-1024 {
				t.Errorf("%d answers are counted as not sent, want %d", n, 5000-1024)
			}
			s.send(deafNID(3), &c.order)
			if s.waiting()[deafNID(3)] == 0 {
				t.Error("another node gets no answer")
			}
		})
	}
}

// TestDeafCrowd (RM-38): many nodes that are not admitted read no refusals. An admitted node gets as many answers as
// without them, and one more node that is not admitted gets its refusals.
func TestDeafCrowd(t *testing.T) {
	spec.Covers(t, "RM-38")
	s := newSiege(t, []nid.NID{deafNID(1)})
	o := rmwire.Order{Kind: rmwire.OrderReport, Group: group, Incarnation: 1}
	for n := range 64 {
		s.flood(deafNID(10+n), 1024, o)
	}
	s.flood(deafNID(1), 1024, o)
	s.flood(deafNID(2), 32, o)
	waiting := s.waiting()
	if n := waiting[deafNID(1)]; n != 1024 {
		t.Errorf("%d answers wait for the admitted node, want 1024", n)
	}
	if n := waiting[deafNID(2)]; n != 32 {
		t.Errorf("%d refusals wait for a further node of the crowd, want 32", n)
	}
	all := 0
	for _, n := range waiting {
		all += n
	}
	if all > 1<<15+1024 {
		t.Errorf("%d answers wait", all)
	}
}

// TestDeafMember (RM-38): a member reads nothing, and reports again and again: that it has no list, that it wants one,
// or that it has the latest one. A list is sent to it at most once in ManagerConfig.Resend, and no more than 16384
// messages wait for it.
func TestDeafMember(t *testing.T) {
	spec.Covers(t, "RM-38")
	s := newSiege(t, nil)
	join := rmwire.Order{Kind: rmwire.OrderJoin, Group: group, Incarnation: 1}
	s.send(deafNID(1), &join)
	first := s.waiting()[deafNID(1)]
	if first == 0 {
		t.Fatal("the manager sent no list")
	}
	s.flood(deafNID(1), 2000, join)
	s.flood(deafNID(1), 2000, rmwire.Order{Kind: rmwire.OrderReport, Group: group, Incarnation: 1})
	s.flood(deafNID(1), 2000, rmwire.Order{Kind: rmwire.OrderReport, Flags: rmwire.OrderAsking, Group: group, Incarnation: 1})
	if n := s.waiting()[deafNID(1)]; n != first {
		t.Errorf("%d messages wait after reports of an old version, %d before", n, first)
	}
	s.at += time.Second
	s.send(deafNID(1), &rmwire.Order{Kind: rmwire.OrderReport, Group: group, Incarnation: 1})
	if n := s.waiting()[deafNID(1)]; n != first+1 {
		t.Errorf("%d messages wait when the time to send the list again has come, want %d", n, first+1)
	}
	status, _ := s.agent.Managed(group)
	s.flood(deafNID(1), 20000, rmwire.Order{Kind: rmwire.OrderReport, Group: group, Incarnation: 1, Epoch: status.Version.Epoch, Version: status.Version, Oldest: status.Version})
	if n := s.waiting()[deafNID(1)]; n != 16384 {
		t.Errorf("%d messages wait for a member that reports its state, want 16384", n)
	}
	if n := s.agent.NotSent(); n < 20000-16384 {
		t.Errorf("%d messages are counted as not sent, want %d", n, 20000-16384)
	}
}

// TestDeafChild (RM-38): a member reads nothing, and requests a datagram again and again. No more than 64 MiB wait for
// it.
func TestDeafChild(t *testing.T) {
	spec.Covers(t, "RM-38")
	s := newSiege(t, nil)
	g, err := s.agent.Join(rmcast.GroupConfig{Group: group, NoMulticast: true, Handle: func(*rmcast.Message) {}})
	if err != nil {
		t.Fatal(err)
	}
	o := rmwire.Order{Kind: rmwire.OrderJoin, Group: group, Incarnation: 1}
	s.send(deafNID(1), &o)
	status, _ := s.agent.Managed(group)
	o.Kind, o.Epoch, o.Version, o.Oldest = rmwire.OrderReport, status.Version.Epoch, status.Version, status.Version
	s.send(deafNID(1), &o)
	g.Post(make([]byte, 60000), func(rmcast.Result, error) {})
	st := g.Status()
	if len(st.Members) != 2 {
		t.Fatalf("members %v", st.Members)
	}
	before := s.agent.InFlight()
	need := rmwire.Entry{Kind: rmwire.Need, Origin: st.Members[0].Number, Version: st.Version, First: 1, Count: 1, Stable: 1}
	for range 1500 {
		s.at += time.Second
		s.arrive(deafNID(1), rmwire.ControlPortal, rmwire.AppendControl(nil, group, st.Version, []rmwire.Entry{need}))
	}
	if n := s.agent.InFlight(); n < 60<<20 || n > 64<<20 {
		t.Errorf("%d bytes are on their way, %d before the requests; want nearly 64 MiB", n, before)
	}
}
