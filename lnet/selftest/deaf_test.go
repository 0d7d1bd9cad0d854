package selftest_test

import (
	"context"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/lo"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/lnet/selftest"
	"ulnet/lnet/selftest/wire"
	lnetwire "ulnet/lnet/wire"
	"ulnet/portals"
	"ulnet/portals/portalstest"
)

// siege is a test node whose requests come from nodes that read no replies.
type siege struct {
	t      *testing.T
	agent  *selftest.Agent
	node   *lnet.Node
	driver *portalstest.Unread
}

// still is a clock that does not move, so that no message expires, however slow the machine is.
type still struct{}

func (still) Now() time.Duration                            { return time.Hour }
func (still) AfterFunc(time.Duration, func()) machine.Timer { return still{} }
func (still) Stop() bool                                    { return true }

func deafNID(id int) nid.NID { return nid.FromNumber(nid.MakeNet(nid.GNI, 0), uint32(id)+1) }

func newSiege(t *testing.T, allow func(nid.NID) bool) *siege {
	t.Helper()
	s := &siege{t: t, node: lnet.New(lnet.Config{Incarnation: 1, Clock: still{}}), driver: &portalstest.Unread{ID: deafNID(0)}}
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
	if s.agent, err = selftest.New(table, selftest.Config{Allow: allow}); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(context.Background())
	cancel() // so that Close and Shutdown do not wait for messages that no node reads
	t.Cleanup(func() {
		if err := s.agent.Close(over); err != nil {
			t.Error(err)
		}
		_ = s.node.Shutdown(over)
	})
	return s
}

// ask lets n requests of a node arrive.
func (s *siege) ask(from nid.NID, n int, service wire.Service, body wire.Body) {
	s.t.Helper()
	data, err := (&wire.Message{Header: wire.Header{Features: 1}, ReplyID: 1 << 40, Body: body}).AppendBinary(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for range n {
		d := new(lnd.Delivery)
		d.Header.SetPut(lnetwire.PutCmd{AckMD: lnetwire.NoHandle(), Portal: uint32(service.Portal()), MatchBits: uint64(service)})
		s.driver.Arrive(s.t, from, d, data)
	}
}

// crowd lets many nodes send more requests than replies to them may wait: eight nodes as many as most says, and others
// fewer.
func (s *siege) crowd(most int, service wire.Service, body wire.Body) {
	s.t.Helper()
	for n := range 32 {
		s.ask(deafNID(100+n), max(most>>max(n-7, 0), 1<<10), service, body)
	}
}

// waiting returns how many replies wait for each node.
func (s *siege) waiting() map[nid.NID]int {
	n := make(map[nid.NID]int)
	for _, p := range s.node.Snapshot().Peers {
		n[p.NID] = p.MaxCredits - p.Credits
	}
	return n
}

// TestDeafCrowd: many nodes send requests, and read no replies. Then 256 replies for another node can wait, such as
// those to a console. If the crowd, or that node, is not allowed, its replies do not count for those to allowed nodes.
// Replies that are not sent are counted.
func TestDeafCrowd(t *testing.T) {
	spec.Covers(t, "ST-12", "ST-19")
	console, ping := deafNID(1), &wire.Ping{Magic: wire.PingMagic}
	makes := &wire.MakeSession{Session: session, Name: "lab"}
	for name, c := range map[string]struct {
		allow   func(nid.NID) bool
		most    int // most requests of a node of the crowd
		service wire.Service
		body    wire.Body
		want    int // most replies that wait for the console beside the crowd
		more    int // most replies that wait for one more node of the crowd
	}{
		"allowed":   {nil, 1 << 14, wire.PingService, ping, 256, 256},
		"strangers": {func(id nid.NID) bool { return id == console }, 1 << 10, wire.MakeSessionService, makes, 2000, 32},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSiege(t, c.allow)
			s.crowd(c.most, c.service, c.body)
			s.ask(console, 1, wire.MakeSessionService, makes)
			s.ask(console, 1999, wire.PingService, ping)
			s.ask(deafNID(2), 2000, c.service, c.body)
			waiting, sent := s.waiting(), 0
			for _, n := range waiting {
				sent += n
			}
			if got, more := waiting[console], waiting[deafNID(2)]; got != c.want || more != c.more {
				t.Errorf("%d replies wait for the console, %d for one more node of the crowd, want %d and %d", got, more, c.want, c.more)
			}
			if got := s.agent.Status(); got.Session != session.String() || got.Received != got.Overload+uint64(sent) || sent > 1<<18 {
				t.Errorf("%d replies wait, %+v", sent, got)
			}
		})
	}
}

// TestDeafClient: a node sends requests, and reads no replies. No more than 16384 replies wait for it, or 1024 if it is
// not allowed, and further ones are counted.
func TestDeafClient(t *testing.T) {
	spec.Covers(t, "ST-19")
	for name, want := range map[string]int{"allowed": 1 << 14, "stranger": 1 << 10} {
		s := newSiege(t, func(nid.NID) bool { return name == "allowed" })
		s.ask(deafNID(1), 1<<14+10, wire.MakeSessionService, &wire.MakeSession{Session: session})
		if got, unsent := s.waiting()[deafNID(1)], s.agent.Status().Overload; got != want || unsent != uint64(1<<14+10-want) {
			t.Errorf("%s: %d replies wait, %d are counted as not sent; want %d to wait", name, got, unsent, want)
		}
	}
}
