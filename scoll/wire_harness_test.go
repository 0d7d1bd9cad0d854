package scoll_test

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lo"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	lnetwire "ulnet/lnet/wire"
	"ulnet/portals"
	"ulnet/scoll"
	"ulnet/scoll/wire"
)

// wires is a network in memory that delivers what each node sends to another in
// a goroutine of its own, as connections do.
type wires struct {
	t     *testing.T
	nodes []*wired
	cut   atomic.Int32       // number of replies whose connection will end amid the payload
	amid  func(*lnd.Message) // if set, called when half of a message's payload has arrived
	wg    sync.WaitGroup
	busy  sync.WaitGroup // counts messages on their way
}

// wired is a node and its driver.
type wired struct {
	w     *wires
	id    int
	table *portals.Table
	agent *scoll.Agent
	up    lnd.Upcalls
	to    []chan *lnd.Message // queues of messages, by the receiving node
	once  sync.Once
}

func wireNID(id int) nid.NID { return nid.FromNumber(nid.MakeNet(nid.GNI, 0), uint32(id)+1) }

// addNIs prepares a node for an agent: 0@lo, an answer to pings, and a driver.
func addNIs(t testing.TB, table *portals.Table, driver lnd.Driver) {
	t.Helper()
	for _, d := range []lnd.Driver{lo.Driver{}, driver} {
		if _, err := table.Node().AddNI(d, lnd.Config{Net: nid.MakeNet(d.Type(), 0)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := discovery.NewTarget(table); err != nil {
		t.Fatal(err)
	}
}

// newWires connects n nodes, and starts an agent on each.
func newWires(t *testing.T, n int, cfg scoll.Config) *wires {
	t.Helper()
	return newWiresOf(t, n, func(int) scoll.Config { return cfg })
}

// newWiresOf connects n nodes, and starts an agent on each, with the configuration that cfg
// returns.
func newWiresOf(t *testing.T, n int, cfg func(id int) scoll.Config) *wires {
	t.Helper()
	w := &wires{t: t, nodes: make([]*wired, n)}
	for i := range w.nodes {
		w.nodes[i] = &wired{w: w, id: i}
	}
	for _, d := range w.nodes {
		for range n {
			d.to = append(d.to, make(chan *lnd.Message, 1024))
		}
		node := lnet.New(lnet.Config{Incarnation: uint64(d.id) + 1, Clock: machine.RealClock()})
		d.table = portals.New(node)
		addNIs(t, d.table, d)
	}
	for _, d := range w.nodes {
		var err error
		if d.agent, err = scoll.New(d.table, cfg(d.id)); err != nil {
			t.Fatal(err)
		}
		for to, messages := range d.to {
			w.wg.Go(func() { d.deliver(w.nodes[to], messages) })
		}
	}
	t.Cleanup(func() {
		for _, d := range w.nodes {
			closeAgent(t, d.agent)
		}
		w.busy.Wait() // after this no node sends messages any more
		for _, d := range w.nodes {
			_ = d.Shutdown(context.Background())
		}
		w.wg.Wait()
	})
	return w
}

// members returns a membership of all nodes, with one entity each.
func (w *wires) members() *scoll.Membership {
	var targets []scoll.Target
	for i := range w.nodes {
		targets = append(targets, scoll.Target{NID: wireNID(i), Entities: []scoll.Entity{{byte(i)}}})
	}
	m, err := scoll.NewMembership(targets)
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

// group creates a group of all nodes at one of them.
func (w *wires) group(root int, shape scoll.Tree) (g *scoll.Group) {
	w.t.Helper()
	w.nodes[root].agent.CreateGroup(scoll.GroupConfig{
		Service: 9, Members: w.members(), Tree: shape,
		Done: func(made *scoll.Group, err error) {
			if g = made; err != nil {
				w.t.Error(err)
			}
		},
	})
	return g
}

func (d *wired) Type() nid.NetType { return nid.GNI }

func (d *wired) Startup(_ lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	d.up = up
	return d, nil
}

func (d *wired) NID() nid.NID { return wireNID(d.id) }

func (d *wired) Send(m *lnd.Message) {
	d.w.busy.Add(1)
	d.to[m.Header.DestNID.Number()-1] <- m
}

func (d *wired) Recv(*lnd.Delivery) {}

func (d *wired) Shutdown(context.Context) error {
	d.once.Do(func() {
		for _, messages := range d.to {
			close(messages)
		}
	})
	return nil
}

// deliver delivers the messages of one node to another.
func (d *wired) deliver(to *wired, messages <-chan *lnd.Message) {
	for m := range messages {
		in := &lnd.Delivery{Header: m.Header, From: nid.ProcessID{NID: m.Header.SrcNID, PID: m.Header.SrcPID}}
		if outcome, err := to.up.Parse(in); err != nil || outcome != lnd.Accept {
			d.w.t.Errorf("outcome %v, %v", outcome, err)
		}
		cut := d.w.cuts(m)
		if cut == nil {
			d.w.copies(m, in.Sink)
		}
		to.up.Delivered(in, cut)
		d.up.Finalize(m, cut)
		d.w.busy.Done()
	}
}

// copies copies the payload of a message, in two halves if amid is set.
func (w *wires) copies(m *lnd.Message, to lnd.Payload) {
	if w.amid == nil {
		lnd.Copy(to, m.Payload)
		return
	}
	half, rest, from := to, to, m.Payload
	half.Length /= 2
	lnd.Copy(half, m.Payload)
	w.amid(m)
	rest.Offset, rest.Length = rest.Offset+half.Length, rest.Length-half.Length
	from.Offset, from.Length = from.Offset+half.Length, from.Length-half.Length
	lnd.Copy(rest, from)
}

// cuts returns the error of a reply whose connection ends amid the payload.
func (w *wires) cuts(m *lnd.Message) error {
	if m.Header.Type != lnetwire.Put || m.Header.Put().Portal != wire.ReplyPortal || w.cut.Add(-1) < 0 {
		return nil
	}
	return io.ErrUnexpectedEOF
}
