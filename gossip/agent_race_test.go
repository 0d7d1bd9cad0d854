package gossip

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"ulnet/gossip/wire"
	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/lo"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// countingNI is an NI that counts the messages sent; several goroutines may use it.
type countingNI struct {
	id   nid.NID
	up   lnd.Upcalls
	sent atomic.Int64
}

func (ni *countingNI) Type() nid.NetType { return ni.id.Net().Type() }

func (ni *countingNI) Startup(_ lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	ni.up = up
	return ni, nil
}

func (ni *countingNI) NID() nid.NID { return ni.id }

func (ni *countingNI) Send(m *lnd.Message) {
	ni.sent.Add(1)
	ni.up.Finalize(m, nil)
}

func (ni *countingNI) Recv(d *lnd.Delivery) { ni.up.Delivered(d, nil) }

func (ni *countingNI) Shutdown(context.Context) error { return nil }

// besieged is a node that gets pings from peers the whole time, while its agents start and stop.
type besieged struct {
	t     *testing.T
	table *portals.Table
	ids   []nid.NID
	next  []nid.NID // the list that Stage is called with
	ni    *countingNI
	s     station
	ping  []byte
	late  atomic.Int64 // number of calls of functions that were given to Watch after Close; no such call may happen
}

func newBesieged(t *testing.T, n int) *besieged {
	t.Helper()
	b := &besieged{t: t, ids: testNIDs(n), next: testNIDs(n + 2)}
	b.ni = &countingNI{id: b.ids[0]}
	node := lnet.New(lnet.Config{Incarnation: 1, Clock: machine.RealClock()})
	b.table = portals.New(node)
	for _, d := range []lnd.Driver{lo.Driver{}, b.ni} {
		if _, err := node.AddNI(d, lnd.Config{Net: nid.MakeNet(d.Type(), 0)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := discovery.NewTarget(b.table); err != nil {
		t.Fatal(err)
	}
	list := testList(t, n)
	b.s = station{t: t, list: list, nis: []*testNI{{id: b.ids[0]}}}
	header := wire.Header{Flags: wire.FlagParams, N: uint32(n), Clock: 9, Interval: interval, Digest: list.Digest()}
	b.ping = header.AppendTo(nil)
	return b
}

// arrive delivers a ping of a peer.
func (b *besieged) arrive(from int) lnd.Answer {
	data := append(slices.Clone(b.ping), young(len(b.ids), from)...)
	d := b.s.delivery(b.ids[from], wire.PingBits, len(data))
	v, err := b.ni.up.Parse(d)
	if err != nil {
		b.t.Error(err)
	}
	if v == lnd.Accept {
		d.Sink.CopyIn(data)
		b.ni.up.Delivered(d, nil)
	}
	return v
}

// use delivers pings and calls an agent as users do, while the agent may be closed.
func (b *besieged) use(a *Agent, busy *sync.WaitGroup) {
	for from := 1; from < 4; from++ {
		busy.Go(func() {
			for range 20 {
				b.arrive(from)
			}
		})
	}
	busy.Go(func() {
		for range 20 {
			a.Watch(func(nid.NID, bool, uint64) { a.Counts() })()
			a.Status()
			_ = a.Stage(b.next) // Stage fails once the agent is closed
			_ = a.Cancel()
		}
	})
}

// TestAgentStopsAnytime: an agent stops while messages arrive and users ask, watch and change
// the list. After that it sends nothing, calls no function and holds no message, and another
// agent can start (GO-40, GO-48, GO-49).
func TestAgentStopsAnytime(t *testing.T) {
	spec.Covers(t, "GO-40", "GO-48", "GO-49")
	b := newBesieged(t, 8)
	for range 40 {
		b.startAndStop()
	}
	if b.late.Load() > 0 {
		t.Error("a function that watches a stopped agent is called")
	}
}

func (b *besieged) startAndStop() {
	t := b.t
	a, err := New(b.table, Config{Participants: b.ids, Interval: interval, ColdStart: true, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	var busy sync.WaitGroup
	b.use(a, &busy)
	heard := make(chan struct{}, 1)
	var closed atomic.Bool
	a.Watch(func(nid.NID, bool, uint64) {
		if closed.Load() {
			t.Error("told after the end of Close, or while it returned")
		}
		select {
		case heard <- struct{}{}:
		default:
		}
	})
	<-heard
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	closed.Store(true)
	sent := b.ni.sent.Load()
	busy.Wait()
	if got := b.ni.sent.Load(); got != sent {
		t.Fatalf("%d messages were sent after the stop", got-sent)
	}
	if v := b.arrive(5); v == lnd.Hold {
		t.Fatal("a message waits for a node that has stopped")
	}
	a.Watch(func(nid.NID, bool, uint64) { b.late.Add(1) })
}

// TestListChangeAfterEnd: a node that has stopped because of its parameters, or that left the
// list by a commit, refuses changes of the list. The error says why (GO-A5, GO-A21).
func TestListChangeAfterEnd(t *testing.T) {
	spec.Covers(t, "GO-A5", "GO-A21")
	const n = 4
	s := newStation(t, n, testNIDs(n)[0])
	s.start(nil)
	without := testNIDs(n)[1:]
	if err := s.agent.Stage(without); err != nil {
		t.Fatal(err)
	}
	if err := s.agent.CommitAnyway(); err != nil {
		t.Fatal(err)
	}
	if status := s.agent.Status(); !status.Stopped || !status.Left {
		t.Fatalf("stopped %v, left %v", status.Stopped, status.Left)
	}
	for _, err := range []error{s.agent.Commit(), s.agent.CommitAnyway(), s.agent.Cancel(), s.agent.Stage(without)} {
		if err == nil || err.Error() != "gossip: stopped" {
			t.Errorf("got %v", err)
		}
	}
}

// TestListChangeAfterClose: a closed agent refuses changes of the list (GO-48, GO-A21).
func TestListChangeAfterClose(t *testing.T) {
	spec.Covers(t, "GO-48", "GO-A21")
	const n = 4
	s := newStation(t, n, testNIDs(n)[0])
	s.start(nil)
	next := testNIDs(n + 1)
	if err := s.agent.Stage(next); err != nil {
		t.Fatal(err)
	}
	if err := s.agent.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{s.agent.Commit(), s.agent.CommitAnyway(), s.agent.Cancel(), s.agent.Stage(next)} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("got %v", err)
		}
	}
}
