package scoll_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
	"ulnet/scoll"
)

// TestCallLate: a handler gets a context with the caller's deadline, less the time that the
// tree needs. If the handler does not return in time, its member counts as failed, and the
// answers of the members below it count.
func TestCallLate(t *testing.T) {
	spec.Covers(t, "SC-166")
	synctest.Test(t, testCallLate)
}

func testCallLate(t *testing.T) {
	const n = 8
	w := newWires(t, n, scoll.Config{RTT: 500 * time.Millisecond, Guard: 200 * time.Millisecond})
	release := make(chan struct{})
	w.handle(func(id int) scoll.Handler {
		return scoll.Handler{Answer: func(ctx context.Context, _ *scoll.Question) ([]byte, error) {
			if id == 4 { // nodes 5, 6 and 7 are below node 4
				<-ctx.Done()
				if err := ctx.Err(); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the context of a handler ends with %v", err)
				}
				<-release
			}
			return nil, nil
		}}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
	defer cancel()
	r, err := w.ask(ctx, 0, scoll.Tree{}, scoll.CallConfig{})
	close(release)
	if err != nil || r.Answered != n-1 || len(r.Failed) != 1 || r.Failed[0].Rank != 4 || r.Failed[0].Status != scoll.ETIMEDOUT {
		t.Fatalf("%+v, %v", r, err)
	}
	if ctx.Err() != nil {
		t.Error("the caller's own time was over before the answer came")
	}
}

// TestCallTooLong: SC-166: if the messages of a call may need longer than Config.MaxTimeout in the tree, the call
// is refused, and no member runs it.
func TestCallTooLong(t *testing.T) {
	spec.Covers(t, "SC-166")
	w := newWires(t, 2, scoll.Config{RTT: time.Second, MaxTimeout: time.Second})
	w.handle(func(int) scoll.Handler {
		return scoll.Handler{Answer: func(context.Context, *scoll.Question) ([]byte, error) {
			t.Error("a handler runs")
			return nil, nil
		}}
	})
	for _, left := range []time.Duration{0, time.Hour} {
		ctx, cancel := t.Context(), func() {}
		if left > 0 {
			ctx, cancel = context.WithTimeout(ctx, left)
		}
		if r, err := w.ask(ctx, 0, scoll.Tree{}, scoll.CallConfig{}); r != nil || !errors.Is(err, scoll.EINVAL) {
			t.Errorf("%v left: %+v, %v", left, r, err)
		}
		cancel()
	}
}

// TestCallLong: a call with more time than a request can express gives its handlers as much as it can.
func TestCallLong(t *testing.T) {
	spec.Covers(t, "SC-166")
	w := newWires(t, 2, scoll.Config{RTT: time.Minute, MaxTimeout: 24 * time.Hour})
	w.handle(func(int) scoll.Handler {
		return scoll.Handler{Answer: func(ctx context.Context, _ *scoll.Question) ([]byte, error) {
			if at, _ := ctx.Deadline(); time.Until(at) < time.Hour || time.Until(at) > 2*time.Hour {
				t.Errorf("a handler has %v", time.Until(at))
			}
			return nil, nil
		}}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 12*time.Hour)
	defer cancel()
	if r, err := w.ask(ctx, 0, scoll.Tree{}, scoll.CallConfig{}); err != nil || r.Answered != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
}

// TestCallCanceled: a call returns at once when its context ends, with the answers so far, even
// if the handler of this node blocks. If the context leaves less time than messages take in the
// tree, no member is asked.
func TestCallCanceled(t *testing.T) {
	spec.Covers(t, "SC-166")
	const n = 4
	w := newWires(t, n, scoll.Config{RTT: time.Minute})
	ctx, cancel := context.WithCancel(t.Context())
	ended, begun := make(chan error, n), make(chan struct{})
	w.handle(func(id int) scoll.Handler {
		return scoll.Handler{Answer: func(of context.Context, q *scoll.Question) ([]byte, error) {
			if id == 0 {
				<-begun
				cancel()
				<-of.Done()
				ended <- of.Err()
			}
			if id == 1 {
				close(begun)
				<-of.Done() // the context ends when the agent is closed
				ended <- of.Err()
			}
			return nil, nil
		}}
	})
	r, err := w.ask(ctx, 0, scoll.Tree{}, scoll.CallConfig{})
	if !errors.Is(err, context.Canceled) || r == nil || r.Asked != n || r.Answered+len(r.Failed)+len(r.Unreached) != n {
		t.Fatalf("%+v, %v", r, err)
	}
	if !slices.ContainsFunc(r.Unreached, func(u scoll.Lost) bool { return u.NID == wireNID(1) && u.Status == scoll.ECANCELED }) {
		t.Errorf("%+v", r)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the context of the own handler ends with %v", err)
	}
	closeAgent(t, w.nodes[1].agent)
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the context of a handler ends with its agent: %v", err)
	}

	short, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if r, err := w.ask(short, 0, scoll.Tree{}, scoll.CallConfig{}); r != nil || !errors.Is(err, context.DeadlineExceeded) || short.Err() != nil {
		t.Errorf("a call that cannot be answered in time: %+v, %v", r, err)
	}
}

// TestCallStopped: a call ends when its agent is stopped. Its result says that members may have run it.
func TestCallStopped(t *testing.T) {
	spec.Covers(t, "SC-166")
	w := newWires(t, 2, scoll.Config{RTT: time.Minute})
	asked := make(chan struct{})
	w.handle(func(id int) scoll.Handler {
		return scoll.Handler{Answer: func(ctx context.Context, _ *scoll.Question) ([]byte, error) {
			if id == 1 {
				close(asked)
				<-ctx.Done()
			}
			return nil, nil
		}}
	})
	go func() {
		<-asked
		closeAgent(t, w.nodes[0].agent)
	}()
	r, err := w.ask(t.Context(), 0, scoll.Tree{}, scoll.CallConfig{Only: []nid.NID{wireNID(1)}})
	lost := []scoll.Lost{{Unreached: scoll.Unreached{NID: wireNID(1), Status: scoll.ECANCELED}, Rank: 1}}
	if !errors.Is(err, scoll.ErrStopped) || r == nil || r.Asked != 1 || !slices.Equal(r.Unreached, lost) {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestCallWaiting: the context of a call ends while the call waits for others over its group. No member has
// run it, so the error of the context comes without a result.
func TestCallWaiting(t *testing.T) {
	spec.Covers(t, "SC-166")
	const window = 64
	w := newWires(t, 2, scoll.Config{RTT: time.Minute, MaxActive: 2 * window})
	begun, release := make(chan struct{}, window), make(chan struct{})
	w.handle(func(id int) scoll.Handler {
		return scoll.Handler{Answer: func(context.Context, *scoll.Question) ([]byte, error) {
			if id == 1 {
				begun <- struct{}{}
				<-release
			}
			return nil, nil
		}}
	})
	a := w.nodes[0].agent
	g, err := a.NewGroup(t.Context(), handled, wireNID(0), wireNID(1))
	if err != nil {
		t.Fatal(err)
	}
	var calls sync.WaitGroup
	for range window {
		calls.Go(func() { _, _ = g.Call(t.Context(), scoll.CallConfig{}) })
	}
	for range window {
		<-begun
	}
	ctx, cancel := context.WithCancel(t.Context())
	waits := make(chan struct{})
	go func() {
		defer close(waits)
		if r, err := g.Call(ctx, scoll.CallConfig{}); r != nil || err != context.Canceled {
			t.Errorf("%+v, %v", r, err)
		}
	}()
	for a.Stats().Waited == 0 {
		runtime.Gosched()
	}
	cancel()
	<-waits
	close(release)
	calls.Wait()
}

// TestGroupStopped: after an agent was closed, CreateGroup and Destroy still call their functions once, with
// ECANCELED.
func TestGroupStopped(t *testing.T) {
	spec.Covers(t, "SC-17")
	w := newWires(t, 2, scoll.Config{RTT: time.Minute})
	w.handle(func(int) scoll.Handler {
		return scoll.Handler{Answer: func(context.Context, *scoll.Question) ([]byte, error) { return nil, nil }}
	})
	a := w.nodes[0].agent
	g, err := a.NewGroup(t.Context(), handled, wireNID(0), wireNID(1))
	if err != nil {
		t.Fatal(err)
	}
	closeAgent(t, a)
	for _, now := range []bool{false, true} {
		var told []error
		a.CreateGroup(scoll.GroupConfig{Service: handled, Members: w.members(), Now: now, Done: func(_ *scoll.Group, err error) { told = append(told, err) }})
		if len(told) != 1 || !errors.Is(told[0], scoll.ECANCELED) {
			t.Errorf("now %v: told %v", now, told)
		}
	}
	var told []error
	g.Destroy(func(err error) { told = append(told, err) })
	if len(told) != 1 || !errors.Is(told[0], scoll.ECANCELED) {
		t.Errorf("told %v", told)
	}
}

// deadOne is a view in which one node is dead.
type deadOne struct{ id nid.NID }

func (v deadOne) Alive(id nid.NID) (bool, uint64) { return id != v.id, 0 }

func (v deadOne) Watch(f func(nid.NID, bool, uint64)) (stop func()) {
	for i := range 5 {
		f(wireNID(i), wireNID(i) != v.id, 0)
	}
	return func() {}
}

// TestCallDead: a call asks the live members and lists the dead ones as unreached. With All it
// fails and asks no member.
func TestCallDead(t *testing.T) {
	spec.Covers(t, "SC-166")
	w := newWires(t, 5, scoll.Config{RTT: time.Minute, View: deadOne{wireNID(2)}})
	w.handle(func(int) scoll.Handler {
		return scoll.Handler{Inline: true, Answer: func(context.Context, *scoll.Question) ([]byte, error) { return nil, nil }}
	})
	r, err := w.ask(t.Context(), 0, scoll.Tree{}, scoll.CallConfig{})
	if err != nil || r.Asked != 5 || r.Answered != 4 || !slices.Equal(r.Unreached, []scoll.Lost{{Unreached: scoll.Unreached{NID: wireNID(2), Status: scoll.EHOSTDOWN}, Rank: 2}}) {
		t.Fatalf("%+v, %v", r, err)
	}
	var incomplete *scoll.Error
	if err := r.Err(); !errors.As(err, &incomplete) || incomplete.Result != r || err.Error() != "scoll: 1 of 5 were not reached: rank 2, "+wireNID(2).String()+": node is down" {
		t.Errorf("%v", err)
	}
	r, err = w.ask(t.Context(), 0, scoll.Tree{}, scoll.CallConfig{Only: []nid.NID{wireNID(1), wireNID(3)}})
	if err != nil || r.Err() != nil || r.Answered != 2 {
		t.Errorf("the dead one is not asked: %+v, %v", r, err)
	}
	var dead *scoll.Error
	if r, err := w.ask(t.Context(), 0, scoll.Tree{}, scoll.CallConfig{All: true}); !errors.As(err, &dead) || r != nil || !slices.Equal(dead.Dead, []nid.NID{wireNID(2)}) {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestCallRepeated: SC-A20: a call to the live members is sent again because one member learns
// of a death late. No handler runs twice, and the result has the answers of the members that
// ran the first attempt.
func TestCallRepeated(t *testing.T) {
	spec.Covers(t, "SC-166", "SC-A20")
	repeatCall(t, func(*stacks, []*view) {})
}

// TestCallRepeatedAfterFlap: SC-166, SC-160: between the attempts, discovery reports to a member that the
// root of the call, which created the group, is dead, and then that it is alive again. The member runs the
// question once.
func TestCallRepeatedAfterFlap(t *testing.T) {
	spec.Covers(t, "SC-160", "SC-166")
	repeatCall(t, func(s *stacks, views []*view) {
		s.fabric.Do(5, func(*simlnd.Host) {
			root := simlnd.NID(0)
			views[5].tell(root, false, 1)
			views[5].tell(root, true, 1)
		})
	})
}

// repeatCall makes a call that needs a second attempt, and checks that each live member runs the question once. The function between
// is called between the attempts.
func repeatCall(t *testing.T, between func(*stacks, []*view)) {
	t.Helper()
	s, views := watched(t, 16)
	ran := make([]int, 16)
	for id, k := range s.nodes {
		err := k.agent.Handle(handled, scoll.Handler{Answer: func(context.Context, *scoll.Question) ([]byte, error) {
			ran[id]++
			return []byte{byte(id)}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	s.fabric.Kill(8)
	for i := range s.nodes {
		if i != 8 && i != 12 {
			s.died(views, i, 8)
		}
	}
	s.run(time.Millisecond)
	s.fabric.At(s.fabric.Now()+10*time.Millisecond, func() { s.died(views, 12, 8) })
	var end func() (*scoll.Result, error, bool)
	s.fabric.Do(0, func(*simlnd.Host) {
		s.nodes[0].agent.CreateGroup(scoll.GroupConfig{Service: handled, Members: s.members, Done: func(g *scoll.Group, err error) {
			if err == nil {
				end, err = g.Begin(t.Context(), scoll.CallConfig{}, true)
			}
			if err != nil {
				t.Fatal(err)
			}
		}})
	})
	s.fabric.At(s.fabric.Now()+15*time.Millisecond, func() { between(s, views) })
	s.run(time.Minute)
	r, err, ended := end()
	if !ended || err != nil || r.Answered != 15 || len(r.Unreached) != 1 || r.Unreached[0].Status != scoll.EHOSTDOWN {
		t.Fatalf("%v, %+v, %v", ended, r, err)
	}
	for id, n := range ran {
		if want := min(1, max(8-id, id-8)); n != want {
			t.Errorf("node %d ran it %d times", id, n)
		}
	}
	if s.nodes[0].agent.Stats().Again == 0 {
		t.Error("it was not sent again")
	}
}
