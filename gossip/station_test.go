package gossip

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"ulnet/gossip/engine"
	"ulnet/gossip/wire"
	"ulnet/lnd"
	"ulnet/lnd/lo"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	lnetwire "ulnet/lnet/wire"
	"ulnet/portals"
)

const interval = 200 * time.Millisecond

// testNIDs returns the NIDs 10.0.0.1@tcp and so on.
func testNIDs(n int) []nid.NID {
	var ids []nid.NID
	for i := range n {
		ids = append(ids, nid.FromNumber(nid.MakeNet(nid.TCP, 0), uint32(0x0A000001+i)))
	}
	return ids
}

func testList(t testing.TB, n int) *engine.List {
	t.Helper()
	l, err := engine.NewList(testNIDs(n))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// young returns n ages: 0 for the sender, 1 for the others.
func young(n, sender int) []byte {
	ages := bytes.Repeat([]byte{1}, n)
	ages[sender] = 0
	return ages
}

// refused reports whether an error refuses parameters or a list: an *Error without NIDs.
func refused(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && len(e.NIDs) == 0
}

// station is a node with an agent and a driver that the test controls. The test sees the
// messages that the agent sends, decides when each counts as sent, and plays the other
// participants.
type station struct {
	t     testing.TB
	clock *handClock
	node  *lnet.Node
	table *portals.Table
	agent *Agent
	list  *engine.List
	nis   []*testNI
	log   bytes.Buffer
}

// testNI is an NI of a station. The test is its driver.
type testNI struct {
	id   nid.NID
	up   lnd.Upcalls
	sent []*lnd.Message // messages that were not yet reported as sent
	tap  []sentPut      // all PUTs that were ever passed to the driver
	hold bool           // messages stay in sent until the test finalizes them
	deaf bool           // tap discards messages instead of recording them
	recv []*lnd.Delivery
}

// sentPut is what a testNI records in its tap about a PUT.
type sentPut struct {
	from, to nid.NID
	cmd      lnetwire.PutCmd
	data     []byte
	priority bool
	leaveBy  time.Duration
}

type testDriver struct{ ni *testNI }

func (d testDriver) Type() nid.NetType { return d.ni.id.Net().Type() }

func (d testDriver) Startup(_ lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	d.ni.up = up
	return d.ni, nil
}

func (ni *testNI) NID() nid.NID { return ni.id }

func (ni *testNI) Send(m *lnd.Message) {
	if !ni.deaf {
		ni.tap = append(ni.tap, sentPut{m.Header.SrcNID, m.Header.DestNID, m.Header.Put(), m.Payload.AppendTo(nil), m.Priority, m.LeaveBy})
	}
	if ni.hold {
		ni.sent = append(ni.sent, m)
		return
	}
	ni.up.Finalize(m, nil)
}

func (ni *testNI) Recv(d *lnd.Delivery) { ni.recv = append(ni.recv, d) }

func (ni *testNI) Shutdown(context.Context) error { return nil }

// newStation makes a node with the given NIDs, without an agent.
func newStation(t testing.TB, n int, ids ...nid.NID) *station {
	t.Helper()
	s := &station{t: t, clock: new(handClock), list: testList(t, n)}
	s.node = lnet.New(lnet.Config{Incarnation: 1, Clock: s.clock, PeerIdle: -1})
	s.table = portals.New(s.node)
	if _, err := s.node.AddNI(lo.Driver{}, lnd.Config{Net: nid.Lo0().Net()}); err != nil {
		t.Fatal(err)
	}
	if _, err := discovery.NewTarget(s.table); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		ni := &testNI{id: id}
		if _, err := s.node.AddNI(testDriver{ni}, lnd.Config{Net: id.Net()}); err != nil {
			t.Fatal(err)
		}
		s.nis = append(s.nis, ni)
	}
	return s
}

// start starts the agent.
func (s *station) start(change func(*Config)) {
	s.t.Helper()
	cfg := Config{
		Participants: s.list.NIDs(), Interval: interval, ColdStart: true, Seed: 1,
		Log: slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&cfg)
	}
	var err error
	if s.agent, err = New(s.table, cfg); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { s.stop() })
}

// stop closes the agent.
func (s *station) stop() {
	s.t.Helper()
	if err := s.agent.Close(s.t.Context()); err != nil {
		s.t.Error(err)
	}
}

// delivery returns a PUT that arrives: its header, without its payload.
func (s *station) delivery(from nid.NID, bits uint64, size int) *lnd.Delivery {
	d := &lnd.Delivery{From: nid.ProcessID{NID: from, PID: nid.LustrePID}}
	d.Header = lnetwire.Header{
		SrcNID: from, DestNID: s.nis[0].id, SrcPID: nid.LustrePID, DestPID: nid.LustrePID,
		Type: lnetwire.Put, PayloadLength: uint32(size),
	}
	d.Header.SetPut(lnetwire.PutCmd{AckMD: lnetwire.NoHandle(), MatchBits: bits, Portal: wire.Portal})
	return d
}

// parse passes the header of a PUT to the node, and returns the node's answer, such as lnd.Accept.
func (s *station) parse(d *lnd.Delivery) lnd.Answer {
	s.t.Helper()
	v, err := s.nis[0].up.Parse(d)
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

// arrive passes a PUT with its payload to the node.
func (s *station) arrive(from nid.NID, bits uint64, data []byte) {
	s.t.Helper()
	d := s.delivery(from, bits, len(data))
	if s.parse(d) == lnd.Hold {
		s.t.Fatal("nothing takes the message")
	}
	d.Sink.CopyIn(data)
	s.nis[0].up.Delivered(d, nil)
}

// ping returns a ping of participant i with the parameters and the clock of the station's agent.
func (s *station) ping(i int) []byte {
	var clock uint64
	s.agent.runner.Inspect(func() { clock = s.agent.m.Clock() })
	h := wire.Header{Flags: wire.FlagParams, N: uint32(s.list.Len()), Clock: clock, Interval: interval, Digest: s.list.Digest()}
	return append(h.AppendTo(nil), young(s.list.Len(), i)...)
}

// handClock is a clock that the test advances.
type handClock struct {
	now    time.Duration
	timers []*handTimer
}

type handTimer struct {
	at   time.Duration
	f    func()
	dead bool
}

func (t *handTimer) Stop() bool {
	was := !t.dead
	t.dead = true
	return was
}

func (c *handClock) Now() time.Duration { return c.now }

func (c *handClock) AfterFunc(d time.Duration, f func()) machine.Timer {
	t := &handTimer{at: c.now + d, f: f}
	c.timers = append(c.timers, t)
	return t
}

// advance lets time pass, and runs the timers that are due, in order.
func (c *handClock) advance(d time.Duration) {
	end := c.now + d
	for {
		var next *handTimer
		c.timers = slices.DeleteFunc(c.timers, func(t *handTimer) bool { return t.dead })
		for _, t := range c.timers {
			if t.at <= end && (next == nil || t.at < next.at) {
				next = t
			}
		}
		if next == nil {
			c.now = end
			return
		}
		c.now, next.dead = max(c.now, next.at), true
		next.f()
	}
}
