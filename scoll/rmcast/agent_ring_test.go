package rmcast_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/lo"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/scoll/rmcast"
)

// ring is a network with multicast that delivers within Send or, if it is already delivering,
// afterwards, as lo does. It allocates nothing.
type ring struct {
	queue   lnd.Queue
	ends    []*ringEnd
	running bool
	d       lnd.Delivery
}

// ringEnd is the driver of a node.
type ringEnd struct {
	ring  *ring
	id    int
	up    lnd.Upcalls
	table *portals.Table
	agent *rmcast.Agent
	group *rmcast.Group
	got   int
	last  []byte
	joins func() // if set, called when a group is joined
}

func (*ringEnd) Type() nid.NetType { return nid.GNI }

func (e *ringEnd) Startup(_ lnd.Config, up lnd.Upcalls) (lnd.NI, error) {
	e.up = up
	return e, nil
}

func (*ringEnd) Shutdown(context.Context) error { return nil }

func (e *ringEnd) NID() nid.NID { return nid.FromNumber(nid.MakeNet(nid.GNI, 0), uint32(e.id)+1) }

func (*ringEnd) Recv(*lnd.Delivery) { panic("nothing is held") }

func (*ringEnd) GroupNID(lnd.Group) nid.NID { return nid.FromNumber(nid.MakeNet(nid.GNI, 0), 1<<20) }

func (e *ringEnd) Join(lnd.Group) error {
	if e.joins != nil {
		e.joins()
	}
	return nil
}

func (*ringEnd) Leave(lnd.Group) error { return nil }

func (e *ringEnd) Multicast(m *lnd.Message) { e.Send(m) }

func (*ringEnd) MulticastLimits() lnd.MulticastLimits {
	return lnd.MulticastLimits{MaxPayload: 4096, ReceiveBuffer: 1 << 20}
}

func (e *ringEnd) Send(m *lnd.Message) {
	r := e.ring
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
	for _, e := range r.ends {
		if e.NID() != to && (m.Group == 0 || e.NID() == from) {
			continue
		}
		r.d = lnd.Delivery{Header: m.Header, From: nid.ProcessID{NID: from, PID: m.Header.SrcPID}, Group: m.Group}
		decision, err := e.up.Parse(&r.d)
		if err == nil && decision == lnd.Accept {
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

// ringClock is a clock whose timers do not expire while a test runs: the ring has no locks, so no
// goroutine of a timer may send.
type ringClock struct{ machine.Clock }

func (c ringClock) AfterFunc(_ time.Duration, f func()) machine.Timer {
	return ringTimer{time.AfterFunc(time.Hour, f)}
}

type ringTimer struct{ *time.Timer }

func (t ringTimer) Reset(time.Duration) bool { return t.Timer.Reset(time.Hour) }

// newRing makes a group whose timers are long.
func newRing(t testing.TB, n int) *ring {
	t.Helper()
	return newRingWith(t, n, func(int, *rmcast.GroupConfig) {})
}

// newStillRing makes a group whose timers do not expire.
func newStillRing(t testing.TB, n int) *ring {
	t.Helper()
	return newRingOn(t, n, ringClock{machine.RealClock()}, func(int, *rmcast.GroupConfig) {})
}

// newRingWith makes a group as newRing does, and lets change modify the nodes' configurations.
func newRingWith(t testing.TB, n int, change func(id int, cfg *rmcast.GroupConfig)) *ring {
	t.Helper()
	return newRingOn(t, n, machine.RealClock(), change)
}

func newRingOn(t testing.TB, n int, clock machine.Clock, change func(id int, cfg *rmcast.GroupConfig)) *ring {
	t.Helper()
	r := &ring{}
	const ever = time.Hour
	manager := nid.FromNumber(nid.MakeNet(nid.GNI, 0), 1)
	for id := range n {
		e := &ringEnd{ring: r, id: id}
		r.ends = append(r.ends, e)
		node := lnet.New(lnet.Config{Incarnation: uint64(id) + 1, Clock: clock})
		e.table = portals.New(node)
		for _, d := range []lnd.Driver{e, lo.Driver{}} {
			if _, err := node.AddNI(d, lnd.Config{Net: nid.MakeNet(d.Type(), 0)}); err != nil {
				t.Fatal(err)
			}
		}
		_, err := discovery.NewTarget(e.table)
		if err != nil {
			t.Fatal(err)
		}
		if e.agent, err = rmcast.New(e.table, rmcast.Config{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.agent.Close(context.Background()) })
		if id == 0 {
			err = e.agent.Manage(rmcast.ManagerConfig{Group: group, Resend: ever, Window: 4})
		}
		if err == nil {
			cfg := rmcast.GroupConfig{
				Group: group, Managers: []nid.NID{manager}, MinRTT: ever, MaxRTT: ever, Idle: ever, Silence: ever, ReportInterval: ever,
				Handle: func(m *rmcast.Message) {
					e.got++
					e.last = append(e.last[:0], m.Data...)
				},
			}
			change(id, &cfg)
			e.group, err = e.agent.Join(cfg)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range r.ends {
		if st := e.group.Status(); len(st.Members) != n || st.Sending != st.Version {
			t.Fatalf("%d: %+v", e.id, st)
		}
	}
	return r
}

// TestSend: RM-31, RM-33 and RM-A17: Send returns when all members have the message, and
// SendAsync when the message is in flight. In both cases the buffer may then be reused.
func TestSend(t *testing.T) {
	spec.Covers(t, "RM-31", "RM-33", "RM-A16", "RM-A17")
	r := newStillRing(t, 5)
	data := []byte("first")
	for i, e := range r.ends {
		result, err := e.group.Send(t.Context(), data)
		if err != nil || result.Seq == 0 || len(result.Failed) > 0 {
			t.Fatal(result, err)
		}
		for _, other := range r.ends {
			if other.got != i+1 || string(other.last) != "first" {
				t.Errorf("node %d has %d messages, the last %q", other.id, other.got, other.last)
			}
		}
	}
	r.running = true // the network holds all messages back
	var all []*rmcast.Sending
	for i := range 4 {
		copy(data, fmt.Sprint("msg ", i))
		s, err := r.ends[2].group.SendAsync(t.Context(), data)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
		clear(data)
	}
	// RM-A16: there is no room until the first messages are released.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.ends[2].group.SendAsync(ctx, data); !errors.Is(err, context.Canceled) {
		t.Errorf("beyond the window: %v", err)
	}
	posted := error(nil)
	r.ends[2].group.Post(data, func(_ rmcast.Result, err error) { posted = err })
	if !errors.Is(posted, rmcast.ErrFull) {
		t.Errorf("posted beyond the window: %v", posted)
	}
	if _, err := all[0].Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("not released: %v", err)
	}
	r.running = false
	r.resume()
	for _, s := range all[1:] {
		if _, err := s.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for _, e := range r.ends {
		if e.got != 5+4 || string(e.last) != "msg 3" {
			t.Errorf("node %d has %d messages, the last %q", e.id, e.got, e.last)
		}
	}
	if _, err := r.ends[1].group.Send(t.Context(), make([]byte, 5*4096)); !errors.Is(err, rmcast.ErrTooLong) {
		t.Errorf("longer than the window: %v", err)
	}
}

// resume delivers the messages that were held back.
func (r *ring) resume() {
	r.running = true
	for m := r.queue.Pop(); m != nil; m = r.queue.Pop() {
		r.deliver(m)
	}
	r.running = false
}

// TestSendAllocations: in the steady state a message causes no allocation on any node, and N-1
// acknowledgements and one datagram on the network (RM-1, RM-4).
func TestSendAllocations(t *testing.T) {
	spec.Covers(t, "RM-1", "RM-4")
	if effort.Race {
		t.Skip("sync.Pool drops values at random under the race detector")
	}
	const n = 8
	r := newStillRing(t, n)
	data := make([]byte, 2048)
	send := func() {
		if _, err := r.ends[3].group.Send(t.Context(), data); err != nil {
			t.Fatal(err)
		}
	}
	for range 50 {
		send()
	}
	datagrams, acks := r.traffic()
	const runs = 100
	if allocations := testing.AllocsPerRun(runs, send); allocations > 0 {
		t.Errorf("%v allocations for a message to %d nodes", allocations, n)
	}
	after, acked := r.traffic()
	if after-datagrams != runs+1 || acked-acks != (n-1)*(runs+1) {
		t.Errorf("%d datagrams and %d acknowledgements for %d messages", after-datagrams, acked-acks, runs+1)
	}
}

// traffic counts the multicast datagrams and acknowledgements of all nodes, except those that
// timers cause.
func (r *ring) traffic() (datagrams, acks uint64) {
	for _, e := range r.ends {
		s := e.group.Stats()
		datagrams, acks = datagrams+s.Datagrams, acks+s.Acks
	}
	return datagrams, acks
}

// TestAgentErrors: calls that cannot succeed return the right errors, also after the agent has ended.
func TestAgentErrors(t *testing.T) {
	r := newStillRing(t, 2)
	a := r.ends[0].agent
	if _, err := a.Join(rmcast.GroupConfig{Group: group}); !errors.Is(err, rmcast.ErrTaken) {
		t.Errorf("a second time: %v", err)
	}
	if err := a.Manage(rmcast.ManagerConfig{Group: group}); !errors.Is(err, rmcast.ErrTaken) {
		t.Errorf("a second manager: %v", err)
	}
	if m, ok := a.Managed(group); !ok || !m.Active || len(m.Members) != 2 || m.Usable != m.Version {
		t.Errorf("%+v, %v", m, ok)
	}
	if err := r.ends[1].group.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if err := r.ends[1].group.Leave(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := r.ends[1].group.Send(t.Context(), nil); err == nil {
		t.Error("sent after leaving")
	}
	if m, _ := a.Managed(group); len(m.Members) != 1 || len(m.Leaving) != 0 {
		t.Errorf("after one has left: %+v", m)
	}
	if _, err := r.ends[0].group.Send(t.Context(), []byte("alone")); err != nil {
		t.Error(err)
	}
	if err := errors.Join(a.Close(t.Context()), a.Close(t.Context())); err != nil {
		t.Error(err)
	}
	if _, err := r.ends[0].group.Send(t.Context(), nil); !errors.Is(err, rmcast.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	if _, err := a.Join(rmcast.GroupConfig{}); !errors.Is(err, rmcast.ErrClosed) {
		t.Errorf("joined after the end: %v", err)
	}
	if !slices.Equal([]int{r.ends[0].got, r.ends[1].got}, []int{1, 0}) {
		t.Errorf("got %d and %d", r.ends[0].got, r.ends[1].got)
	}
}
