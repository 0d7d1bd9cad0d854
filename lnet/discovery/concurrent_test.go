package discovery_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lo"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// pipe is a driver that passes messages to another pipe in order, in a goroutine of its own.
type pipe struct {
	id    nid.NID
	other *pipe
	up    lnd.Upcalls

	mu      sync.Mutex
	arrived *sync.Cond
	queue   []packet // packets that wait for delivery; guarded by mu
	closed  bool     // the pipe takes no more packets; guarded by mu
	done    chan struct{}

	released chan struct{} // Recv sends a value for each held message, which the goroutine of the pipe waits for before it goes on
}

func newPipe(id string) *pipe {
	p := &pipe{id: nid.MustParse(id), done: make(chan struct{}), released: make(chan struct{}, 1)}
	p.arrived = sync.NewCond(&p.mu)
	return p
}

func (p *pipe) Type() nid.NetType { return p.id.Net().Type() }
func (p *pipe) NID() nid.NID      { return p.id }

func (p *pipe) Startup(_ lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	p.up = up
	go p.run()
	return p, nil
}

func (p *pipe) Send(m *lnd.Message) {
	var b []byte
	for _, piece := range m.Payload.Append(nil) {
		b = append(b, piece...)
	}
	p.other.mu.Lock()
	p.other.queue = append(p.other.queue, packet{m.Header, p.id, m.Target.NID, b})
	p.other.arrived.Signal()
	p.other.mu.Unlock()
	p.up.Finalize(m, nil)
}

// Recv is called when lnet continues a message that it had answered with Hold, here a push. The goroutine
// of the pipe then goes on with that message.
func (p *pipe) Recv(*lnd.Delivery) { p.released <- struct{}{} }

func (p *pipe) Shutdown(context.Context) error {
	p.mu.Lock()
	again := p.closed
	p.closed = true
	p.arrived.Signal()
	p.mu.Unlock()
	if !again {
		<-p.done
	}
	return nil
}

func (p *pipe) run() {
	defer close(p.done)
	d := new(lnd.Delivery)
	for {
		p.mu.Lock()
		for len(p.queue) == 0 && !p.closed {
			p.arrived.Wait()
		}
		if p.closed {
			p.mu.Unlock()
			return
		}
		in := p.queue[0]
		p.queue = p.queue[1:]
		p.mu.Unlock()
		d.Header, d.From = in.header, nid.ProcessID{NID: in.header.SrcNID, PID: in.header.SrcPID}
		answer, err := p.up.Parse(d)
		if err != nil {
			panic(err)
		}
		if answer == lnd.Hold {
			<-p.released
		}
		for _, piece := range d.Sink.Append(nil) {
			in.payload = in.payload[copy(piece, in.payload):]
		}
		p.up.Delivered(d, nil)
	}
}

// start makes a node on a pipe that counts the PUTs to its portal 5.
func (p *pipe) start(t *testing.T, got *atomic.Int64, all *sync.WaitGroup) (*portals.Table, *discovery.Agent) {
	t.Helper()
	table := portals.New(lnet.New(lnet.Config{Incarnation: 7, Clock: machine.RealClock()}))
	if _, err := table.Node().AddNI(lo.Driver{}, lnd.Config{Net: nid.Lo0().Net()}); err != nil {
		t.Fatal(err)
	}
	agent, err := discovery.New(table, discovery.Config{})
	if err != nil {
		t.Fatal(err)
	}
	me, err := table.MEAttach(5, portals.Match{}, portals.Unlink, portals.After)
	if err != nil {
		t.Fatal(err)
	}
	_, err = table.MDAttach(me, portals.MD{
		Threshold: portals.ThresholdInfinite, Options: portals.OpPut,
		Handler: func(e *portals.Event) {
			if e.Kind == portals.EventPut {
				got.Add(1)
				all.Done()
			}
		},
	}, portals.Unlink)
	if err != nil {
		t.Fatal(err)
	}
	// Add the NI last: from now on messages may arrive, and they need the entry.
	if _, err = table.Node().AddNI(p, lnd.Config{Net: p.id.Net()}); err != nil {
		t.Fatal(err)
	}
	return table, agent
}

// TestConcurrent: many senders on both sides send while the nodes discover each other at the
// same moment, again and again: every message arrives once.
func TestConcurrent(t *testing.T) {
	const senders, messages = 4, 200
	a, b := newPipe(nidA), newPipe(nidB)
	a.other, b.other = b, a
	var got atomic.Int64
	var all sync.WaitGroup
	all.Add(2 * senders * messages)
	for _, p := range []*pipe{a, b} {
		table, agent := p.start(t, &got, &all)
		defer func() {
			_ = agent.Close(t.Context())
			if err := table.Node().Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
		}()
		for range senders {
			all.Go(func() { putMany(t, table, p.other.id, messages) })
		}
		all.Go(func() {
			for range 20 {
				agent.SetDiscovery(false)
				agent.SetDiscovery(true)
			}
		})
	}
	all.Wait()
	if n := got.Load(); n != 2*senders*messages {
		t.Errorf("%d messages arrived, want %d", n, 2*senders*messages)
	}
}

func putMany(t *testing.T, table *portals.Table, to nid.NID, n int) {
	md, err := table.MDBind(portals.MD{
		Threshold: n,
		Handler: func(e *portals.Event) {
			if e.Err != nil {
				t.Error(e)
			}
		},
	}, portals.Unlink)
	if err != nil {
		t.Error(err)
		return
	}
	for range n {
		if err := table.Put(portals.PutRequest{MD: md, Target: nid.ProcessID{NID: to}, Portal: 5}); err != nil {
			t.Error(err)
		}
	}
}

// TestCrowd: many peers get their first messages while a step is in progress. The inbox holds
// one input for each; all of these messages fail with the same error as the first.
func TestCrowd(t *testing.T) {
	effort.OneGoroutine(t)
	const peers = 20000
	c := newCable(t)
	a := c.node(discovery.Config{}, "10.0.0.1@tcp")
	crowded := false
	c.refuse = func(m *lnd.Message) error {
		if !crowded {
			crowded = true
			for n := range peers {
				a.put(fmt.Sprintf("10.1.%d.%d@tcp", n/250, n%250), 1)
			}
		}
		return syscall.ECONNREFUSED
	}
	a.put("10.0.0.2@tcp", 1)
	if len(a.sent) != peers+1 {
		t.Errorf("%d messages ended, want %d", len(a.sent), peers+1)
	}
	for _, err := range a.sent {
		if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("a message ended with %v", err)
		}
	}
}
