package zone_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ulnet/gossip/zone"
	"ulnet/lnd"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/lo"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// exchange carries messages between nodes in this process, with a goroutine for each receiver.
// Messages are lost if the receiver's queue is full.
type exchange struct {
	nis  map[nid.NID]*exchangeNI
	done sync.WaitGroup
}

type exchangeNI struct {
	exchange *exchange
	id       nid.NID
	up       lnd.Upcalls
	clock    machine.Clock
	queue    chan *lnd.Delivery
	sent     atomic.Int64
}

// newExchange returns an exchange with the NIs of n nodes.
func newExchange(n int) *exchange {
	e := &exchange{nis: make(map[nid.NID]*exchangeNI)}
	for i := range n {
		at := exchangeID(i).Endpoints()[0]
		e.nis[at] = &exchangeNI{exchange: e, id: at, queue: make(chan *lnd.Delivery, 1024)}
	}
	return e
}

func exchangeID(i int) zone.ID { return zone.MustParseID(fmt.Sprintf("n%d=10.0.0.%d@tcp", i, i+1)) }

// table returns the table of a node that is ready for agents.
func (e *exchange) table(t *testing.T, i int) *portals.Table {
	t.Helper()
	node := lnet.New(lnet.Config{Incarnation: 1, Clock: machine.RealClock()})
	table := portals.New(node)
	for _, d := range []lnd.Driver{lo.Driver{}, e.nis[exchangeID(i).Endpoints()[0]]} {
		if _, err := node.AddNI(d, lnd.Config{Net: nid.MakeNet(d.Type(), 0)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := discovery.NewTarget(table); err != nil {
		t.Fatal(err)
	}
	return table
}

// close ends the goroutines of all receivers.
func (e *exchange) close() {
	for _, ni := range e.nis {
		close(ni.queue)
	}
	e.done.Wait()
}

func (ni *exchangeNI) Type() nid.NetType { return ni.id.Net().Type() }

func (ni *exchangeNI) Startup(cfg lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	ni.up, ni.clock = up, cfg.Clock
	ni.exchange.done.Go(func() {
		for d := range ni.queue {
			d.ReceivedAt = ni.clock.Now()
			if v, err := up.Parse(d); err == nil && v == lnd.Accept {
				ni.Recv(d)
			}
		}
	})
	return ni, nil
}

func (ni *exchangeNI) NID() nid.NID { return ni.id }

func (ni *exchangeNI) Send(m *lnd.Message) {
	ni.sent.Add(1)
	d := &lnd.Delivery{Header: m.Header, From: nid.ProcessID{NID: ni.id, PID: nid.LustrePID}, Driver: m.Payload.AppendTo(nil)}
	if to := ni.exchange.nis[m.Target.NID]; to != nil {
		select {
		case to.queue <- d:
		default:
		}
	}
	ni.up.Finalize(m, nil)
}

func (ni *exchangeNI) Recv(d *lnd.Delivery) {
	d.Sink.CopyIn(d.Driver.([]byte))
	ni.up.Delivered(d, nil)
}

func (ni *exchangeNI) Shutdown(context.Context) error { return nil }

// use makes calls as users do, for a while and from many goroutines.
func use(a *zone.Agent, other zone.ID, busy *sync.WaitGroup) {
	for _, f := range []func(i int){
		func(i int) { _ = a.Set(fmt.Sprint("key", i%5), fmt.Append(nil, i)) }, // Set fails between two incarnations
		func(i int) { _ = a.Delete(fmt.Sprint("key", i%5)) },
		func(int) { a.Watch(func(zone.Event) { a.Status() })() },
		func(int) { a.Explain(other); a.Members(); a.Links(); a.Find(other.Name()) },
		func(int) { a.Attributes(other); a.Census(); a.Suspicions(); a.History() },
		func(int) { a.Query("nowhere", func([]zone.Named, error) { a.Joined() }) },
		func(i int) {
			if i%8 == 0 {
				_ = a.Leave(int32(i)) // fails if the node has left already
				_ = a.Join(0)
			}
		},
	} {
		busy.Go(func() {
			for i := range 60 {
				f(i)
			}
		})
	}
}

// knows reports whether the nodes with numbers below first are members in the view of an agent.
func knows(a *zone.Agent, first int) bool {
	for i := range first {
		if len(a.Find(fmt.Sprint("n", i))) == 0 {
			return false
		}
	}
	return true
}

// TestAgentsAnytime: MS-A33: many goroutines use agents, which leave, join and stop while
// messages and heartbeats arrive. A stopped agent sends nothing more, and the others find each
// other.
func TestAgentsAnytime(t *testing.T) {
	spec.Covers(t, "MS-A33")
	const n = 5
	e, id := newExchange(n), exchangeID
	agents := make([]*zone.Agent, n)
	for i := range n {
		var err error
		agents[i], err = zone.New(e.table(t, i), zone.Config{
			Zone: "test", Self: id(i), Bootstrap: []zone.ID{id(0), id(1)}, Supervisor: true,
			Heartbeat: 10 * time.Millisecond, Timeout: 300 * time.Millisecond, Aggregation: 2 * time.Millisecond, Retry: 5 * time.Millisecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := agents[i].Join(0); err != nil {
			t.Fatal(err)
		}
	}
	var busy sync.WaitGroup
	for i, a := range agents {
		use(a, id((i+1)%n), &busy)
	}
	last := e.nis[id(n - 1).Endpoints()[0]]
	told := make(chan struct{}, 1)
	agents[n-1].Watch(func(zone.Event) {
		select {
		case told <- struct{}{}:
		default:
		}
	})
	idle := make(chan struct{})
	go func() { busy.Wait(); close(idle) }()
	select {
	case <-told:
	case <-idle: // all calls ended before Watch was called, so there may be no event
	}
	closed(t, agents[n-1])
	sent := last.sent.Load()
	busy.Wait()
	if more := last.sent.Load() - sent; more > 0 {
		t.Errorf("%d messages were sent after the stop", more)
	}
	tick, late := time.NewTicker(5*time.Millisecond), time.After(60*time.Second)
	defer tick.Stop()
	for _, a := range agents[:n-1] {
		_ = a.Join(0) // needed if the node's last call was Leave
	}
	for _, a := range agents[:n-1] {
		for !knows(a, n-1) {
			select {
			case <-tick.C:
			case <-late:
				t.Fatalf("%+v", a.Status())
			}
		}
	}
	for _, a := range agents[:n-1] {
		closed(t, a)
	}
	e.close()
}
