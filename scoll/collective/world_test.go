package collective_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/scoll"
	"ulnet/scoll/collective"
)

// A world is some nodes in virtual time, each with a barrier.
type world struct {
	*testing.T
	agents   []*scoll.Agent
	nids     []nid.NID
	barriers []*collective.Barrier
	mute     atomic.Int64 // if not 0: 1 more than the index of a node whose messages do not arrive
}

// bubble runs a part of a test in virtual time.
func bubble(t *testing.T, name string, f func(*testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// meet makes a world of n nodes.
func meet(t *testing.T, n int, view scoll.View) *world {
	t.Helper()
	w := &world{T: t}
	w.agents, w.nids = meshWith(t, n, scoll.Config{RTT: 10 * time.Millisecond, View: view}, func(m *lnd.Message) bool {
		i := w.mute.Load()
		return i != 0 && m.Header.SrcNID == w.nids[i-1] && m.Header.DestNID != w.nids[i-1]
	})
	for _, a := range w.agents {
		b, err := collective.NewBarrier(a, service)
		if err != nil {
			t.Fatal(err)
		}
		w.barriers = append(w.barriers, b)
	}
	return w
}

// settle lets all nodes do what they can do at once. In the bubble it takes no time.
func (w *world) settle() { time.Sleep(100 * time.Millisecond) }

// wait makes a node wait at the point x.
func (w *world) wait(i int) <-chan error {
	ctx, ended := w.within(time.Hour), make(chan error, 1)
	go func() { ended <- w.barriers[i].Wait(ctx, "x") }()
	w.settle()
	return ended
}

// lead makes a node lead the members at the point x until ctx ends.
func (w *world) lead(ctx context.Context, leader int, members ...int) <-chan error {
	w.Helper()
	list := []nid.NID{w.nids[leader]}
	for _, i := range members {
		list = append(list, w.nids[i])
	}
	g, ended := group(w.T, w.agents[leader], list), make(chan error, 1)
	go func() {
		_, err := w.barriers[leader].Lead(ctx, g, "x")
		ended <- err
	}()
	w.settle()
	return ended
}

// sends makes a node call one member with a message of package collective about the point x: 0 asks it to come, 1 opens
// the point, and 2 gives up.
func (w *world) sends(ctx context.Context, from, to int, kind byte) <-chan error {
	w.Helper()
	g, ended := group(w.T, w.agents[from], []nid.NID{w.nids[from], w.nids[to]}), make(chan error, 1)
	go func() {
		r, err := g.Call(ctx, scoll.CallConfig{Payload: []byte{kind, 'x'}, Only: []nid.NID{w.nids[to]}})
		if err == nil {
			err = r.Err()
		}
		ended <- err
	}()
	w.settle()
	return ended
}

// within is context.WithTimeout for a test.
func (w *world) within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(w.Context(), d)
	w.Cleanup(cancel)
	return ctx
}

// still fails the test if a call has ended.
func (w *world) still(what string, ended <-chan error) {
	w.Helper()
	select {
	case err := <-ended:
		w.Fatalf("%s has ended: %v", what, err)
	default:
	}
}

// ends fails the test unless a call ends without an error.
func (w *world) ends(what string, ended <-chan error) {
	w.Helper()
	if err := <-ended; err != nil {
		w.Errorf("%s: %v", what, err)
	}
}

// refused fails the test unless a call ends because of the status EPERM.
func (w *world) refused(what string, ended <-chan error) {
	w.Helper()
	if err := <-ended; !errors.Is(err, scoll.EPERM) || errors.Is(err, collective.ErrUntold) {
		w.Errorf("%s: %v, want EPERM", what, err)
	}
}

// view is a discovery to which the test reports deaths.
type view struct {
	mu       sync.Mutex
	known    map[nid.NID]vital
	watchers []func(nid.NID, bool, uint64)
}

type vital struct {
	alive  bool
	deaths uint64
}

func (v *view) Alive(id nid.NID) (alive bool, deaths uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.known[id].alive, v.known[id].deaths
}

func (v *view) Watch(f func(id nid.NID, alive bool, deaths uint64)) (stop func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.watchers = append(v.watchers, f)
	return func() {}
}

func (v *view) tell(id nid.NID, now vital) {
	v.mu.Lock()
	v.known[id] = now
	watchers := slices.Clone(v.watchers)
	v.mu.Unlock()
	for _, f := range watchers {
		f(id, now.alive, now.deaths)
	}
}

func (v *view) died(id nid.NID) { v.tell(id, vital{deaths: 1}) }

func (v *view) back(id nid.NID) { v.tell(id, vital{alive: true, deaths: 1}) }
