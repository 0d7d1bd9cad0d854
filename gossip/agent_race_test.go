package gossip

import (
	"context"
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

// countingNI is an NI that counts what is sent; it may be used from several
// goroutines.
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

// TestAgentStopsAnytime: an agent stops while messages arrive and users ask,
// watch and change the list; then nothing is sent, nobody is told anything and
// no message waits, and the next one starts (GO-40, GO-48, GO-49).
func TestAgentStopsAnytime(t *testing.T) {
	spec.Covers(t, "GO-40", "GO-48", "GO-49")
	const n = 8
	ids := testNIDs(n)
	list, next := testList(t, n), testNIDs(n+2)
	ni := &countingNI{id: ids[0]}
	node := lnet.New(lnet.Config{Incarnation: 1, Clock: machine.RealClock()})
	table := portals.New(node)
	for _, d := range []lnd.Driver{lo.Driver{}, ni} {
		if _, err := node.AddNI(d, lnd.Config{Net: nid.MakeNet(d.Type(), 0)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := discovery.NewTarget(table); err != nil {
		t.Fatal(err)
	}
	s := station{t: t, list: list, nis: []*testNI{{id: ids[0]}}}
	header := wire.Header{Flags: wire.FlagParams, N: n, Clock: 9, Interval: interval, Digest: list.Digest()}
	arrive := func(from int) lnd.Verdict {
		data := append(header.AppendTo(nil), young(n, from)...)
		d := s.delivery(ids[from], wire.PingBits, len(data))
		v, err := ni.up.Parse(d)
		if err != nil {
			t.Error(err)
		}
		if v == lnd.Accept {
			d.Sink.CopyIn(data)
			ni.up.Delivered(d, nil)
		}
		return v
	}
	var told atomic.Int64
	for range 40 {
		a, err := New(table, Config{Participants: ids, Interval: interval, ColdStart: true, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		var busy sync.WaitGroup
		heard := make(chan struct{}, 1)
		for from := 1; from < 4; from++ {
			busy.Go(func() {
				for range 20 {
					arrive(from)
				}
			})
		}
		busy.Go(func() {
			for range 20 {
				a.Watch(func(nid.NID, bool, uint64) { a.Counts() })()
				a.Status()
				_ = a.Stage(next) // refused once it is closed
				_ = a.Cancel()
			}
		})
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
		sent := ni.sent.Load()
		busy.Wait()
		if got := ni.sent.Load(); got != sent {
			t.Fatalf("%d messages were sent after the stop", got-sent)
		}
		if v := arrive(5); v == lnd.Hold {
			t.Fatal("a message waits for a node that has stopped")
		}
		a.Watch(func(nid.NID, bool, uint64) { told.Add(1) })
	}
	if told.Load() > 0 {
		t.Error("who watches a stopped agent is told something")
	}
}

// TestListChangeAfterEnd: a node that has given up, or left by a commit,
// changes no list, and says so (GO-A5, GO-A21).
func TestListChangeAfterEnd(t *testing.T) {
	spec.Covers(t, "GO-A5", "GO-A21")
	const n = 4
	s := newStation(t, n, testNIDs(n)[0])
	s.start(nil)
	without := testNIDs(n)[1:]
	if err := s.agent.Stage(without); err != nil {
		t.Fatal(err)
	}
	if err := s.agent.CommitAnyway(); err != nil || !s.agent.Status().Stopped {
		t.Fatalf("%v, stopped %v", err, s.agent.Status().Stopped)
	}
	for _, err := range []error{s.agent.Commit(), s.agent.CommitAnyway(), s.agent.Cancel(), s.agent.Stage(without)} {
		if err == nil || err.Error() != "gossip: stopped" {
			t.Errorf("got %v", err)
		}
	}
}
