package scoll_test

import (
	"context"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/scoll"
)

// ring is a network whose Send delivers a message before it returns. A message that is sent during a delivery is
// delivered when that delivery has ended, as lo does it. The network does not allocate.
type ring struct {
	queue   lnd.Queue
	ends    []*ringEnd
	running bool
	d       lnd.Delivery
	work    []func() // functions that agents pass to worker goroutines
	sending func(from int)
	clock   *countingClock
}

// ringEnd is the driver of a node.
type ringEnd struct {
	ring  *ring
	id    int
	up    lnd.Upcalls
	agent *scoll.Agent
}

func (*ringEnd) Type() nid.NetType { return nid.GNI }

func (e *ringEnd) Startup(_ lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	e.up = up
	return e, nil
}

func (*ringEnd) Shutdown(context.Context) error { return nil }

func (e *ringEnd) NID() nid.NID { return nid.FromNumber(nid.MakeNet(nid.GNI, 0), uint32(e.id)+1) }

func (*ringEnd) Recv(*lnd.Delivery) { panic("nothing is held") }

func (e *ringEnd) Send(m *lnd.Message) {
	r := e.ring
	if r.sending != nil {
		r.sending(e.id)
	}
	r.queue.Push(m)
	if r.running {
		return
	}
	r.running = true
	for m := r.queue.Pop(); m != nil; m = r.queue.Pop() {
		r.deliver(m)
	}
	r.running = false
}

func (r *ring) deliver(m *lnd.Message) {
	from, to := m.Header.SrcNID, m.Header.DestNID
	r.d = lnd.Delivery{Header: m.Header, From: nid.ProcessID{NID: from, PID: m.Header.SrcPID}}
	for _, e := range r.ends {
		if e.NID() != to {
			continue
		}
		outcome, err := e.up.Parse(&r.d)
		if err == nil && outcome == lnd.Accept {
			lnd.Copy(r.d.Sink, m.Payload)
			e.up.Delivered(&r.d, nil)
		}
	}
	for _, e := range r.ends {
		if e.NID() == from {
			e.up.Finalize(m, nil)
		}
	}
}

func newRing(t *testing.T, n int, service scoll.Service) *ring {
	r := &ring{clock: &countingClock{Clock: machine.RealClock()}}
	for id := range n {
		e := &ringEnd{ring: r, id: id}
		node := lnet.New(lnet.Config{Incarnation: uint64(id) + 1, Clock: r.clock})
		table := portals.New(node)
		addNIs(t, table, e)
		var err error
		cfg := scoll.Config{RTT: time.Minute, Worker: func(f func()) { r.work = append(r.work, f) }}
		if e.agent, err = scoll.New(table, cfg); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closeAgent(t, e.agent) })
		if err := e.agent.RegisterService(service); err != nil {
			t.Fatal(err)
		}
		r.ends = append(r.ends, e)
	}
	return r
}

func (r *ring) group(t *testing.T) (group *scoll.Group) {
	var targets []scoll.Target
	for _, e := range r.ends {
		targets = append(targets, scoll.Target{NID: e.NID(), Entities: []scoll.Entity{{1}}})
	}
	members, err := scoll.NewMembership(targets)
	if err != nil {
		t.Fatal(err)
	}
	r.ends[0].agent.CreateGroup(scoll.GroupConfig{Service: service, Members: members, Done: func(g *scoll.Group, e error) {
		group, err = g, e
	}})
	if err != nil {
		t.Fatal(err)
	}
	return group
}

// TestAgentAllocations: SC-155: in the steady state the agent of a member allocates one object for a request,
// the handle, or none if the service lets the agent reuse handles. The root's agent allocates one object
// more. Network and service do not count. The services are Inline, so that members need no worker (SC-A30).
// The root needs a worker, since a program may call Send while it holds a lock that its callbacks take.
func TestAgentAllocations(t *testing.T) {
	spec.Covers(t, "SC-155", "SC-A30")
	if effort.Race {
		t.Skip("sync.Pool drops values at random under the race detector")
	}
	const nodes = 8
	for reuse, want := range map[bool]float64{false: nodes + 1, true: 1} {
		if got := allocationsOfBroadcast(t, nodes, reuse); got > want {
			t.Errorf("reuse %t: %v allocations for a broadcast to %d nodes, want %v", reuse, got, nodes, want)
		}
	}
}

func allocationsOfBroadcast(t *testing.T, nodes int, reuse bool) float64 {
	room := make([]byte, 64)
	done, ran, helped := 0, 0, 0
	post := func(r *scoll.Request) error {
		for i := range r.Children() {
			if err := r.PostReply(i, room[8*i:8*i+8]); err != nil {
				return err
			}
		}
		return nil
	}
	r := newRing(t, nodes, scoll.Service{
		ID: service, Inline: true, Reuse: reuse, PreRequest: post,
		IncomingRequest: func(*scoll.Request) error { ran++; return nil },
		PostReply: func(r *scoll.Request) {
			switch {
			case !r.Root():
				_ = r.Reply(room[:8])
			case r.Status() == scoll.OK && len(r.Unreached()) == 0:
				done++
			}
		},
	})
	group, payload := r.group(t), make([]byte, 2048)
	broadcast := func() {
		q, err := group.NewRequest(scoll.RequestConfig{Payload: payload})
		if err == nil {
			err = post(q)
		}
		if err == nil {
			err = q.Send()
		}
		if err != nil {
			t.Fatal(err)
		}
		for ; len(r.work) > 0; r.work = r.work[:0] {
			for _, f := range r.work {
				f()
				helped++
			}
		}
	}
	for range 20 {
		broadcast()
	}
	const runs = 200
	done, ran, helped = 0, 0, 0
	allocations := testing.AllocsPerRun(runs, broadcast)
	if done != runs+1 || ran != nodes*(runs+1) || helped != runs+1 {
		t.Fatalf("%d of %d broadcasts, %d of %d services, %d of them in workers", done, runs+1, ran, nodes*(runs+1), helped)
	}
	return allocations
}
