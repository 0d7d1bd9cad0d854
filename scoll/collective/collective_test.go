package collective_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnet/nid"
	"ulnet/portals/node"
	"ulnet/scoll"
	"ulnet/scoll/collective"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const service scoll.ServiceID = 7

// members starts n nodes on loopback, each with an agent.
func members(t *testing.T, n int) (agents []*scoll.Agent, nids []nid.NID) {
	t.Helper()
	port, err := loopback.FreePort(netip.IPv4Unspecified())
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		node, err := node.Start(node.Config{Networks: fmt.Sprintf("tcp(127.0.87.%d)", i+1), AcceptPort: port})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = node.Close(context.Background()) })
		// A long guard time allows for delays on a busy machine.
		agent, err := scoll.New(node.Table(), scoll.Config{RTT: time.Second, Guard: 500 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = agent.Close(context.Background()) })
		agents, nids = append(agents, agent), append(nids, node.NIDs()[0])
	}
	return agents, nids
}

func group(t *testing.T, a *scoll.Agent, nids []nid.NID) *scoll.Group {
	t.Helper()
	g, err := a.NewGroup(t.Context(), service, nids...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// each runs f for all members at the same time, and waits for all.
func each(t *testing.T, n int, f func(i int) error) {
	t.Helper()
	errs := make(chan error, n)
	for i := range n {
		go func() { errs <- f(i) }()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// TestBarrier: no member passes a barrier before all have entered it, over several rounds with
// the same name.
func TestBarrier(t *testing.T) {
	const n, rounds = 5, 20
	agents, nids := members(t, n)
	barriers := make([]*collective.Barrier, n)
	for i, a := range agents {
		var err error
		if barriers[i], err = collective.NewBarrier(a, service); err != nil {
			t.Fatal(err)
		}
	}
	g := group(t, agents[0], nids)
	var came atomic.Int64
	each(t, n, func(i int) error {
		for round := range int64(rounds) {
			came.Add(1)
			var err error
			if i == 0 {
				_, err = barriers[0].Lead(t.Context(), g, "round")
			} else {
				err = barriers[i].Wait(t.Context(), "round")
			}
			if now := came.Load(); err == nil && now < n*(round+1) {
				err = fmt.Errorf("member %d is through round %d when %d came", i, round, now)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// TestAllgather: all members get the data of each.
func TestAllgather(t *testing.T) {
	const n = 4
	agents, nids := members(t, n)
	gathers := make([]*collective.Allgather, n)
	for i, a := range agents {
		var err error
		if gathers[i], err = collective.NewAllgather(a, service, 2000); err != nil {
			t.Fatal(err)
		}
	}
	g := group(t, agents[0], nids)
	brings := func(i int) []byte { return append(make([]byte, 1999), byte(i)) }
	each(t, n, func(i int) (err error) {
		var all []byte
		if i == 0 {
			var r *scoll.Result
			if r, err = gathers[0].Lead(t.Context(), g, "x", brings(0)); err == nil {
				all = r.Answer
			}
		} else {
			all, err = gathers[i].Join(t.Context(), "x", brings(i))
		}
		got := map[nid.NID]string{}
		for id, data := range scoll.Pieces(all) {
			got[id] = string(data)
		}
		for j, id := range nids {
			if got[id] != string(brings(j)) {
				return fmt.Errorf("member %d has %d bytes of %d: %w", i, len(got[id]), j, err)
			}
		}
		return err
	})
}

// TestFence: after a fence has raised the epoch no member does work of an earlier epoch: the
// fence waited for running work, and none begins.
func TestFence(t *testing.T) {
	const n = 3
	agents, nids := members(t, n)
	fences := make([]*collective.Fence, n)
	for i, a := range agents {
		var err error
		if fences[i], err = collective.NewFence(a, collective.FenceConfig{Service: service}); err != nil {
			t.Fatal(err)
		}
	}
	g := group(t, agents[0], nids)
	leave, err := fences[2].Enter(4)
	if err != nil {
		t.Fatal(err)
	}
	raised := make(chan error, 1)
	go func() { raised <- fences[0].Raise(t.Context(), g, 5) }()
	for fences[2].Epoch() != 5 {
		runtime.Gosched()
	}
	select {
	case err := <-raised:
		t.Errorf("it is raised while a member works for an earlier epoch: %v", err)
	default:
	}
	if _, err := fences[2].Enter(4); !errors.Is(err, collective.ErrFenced) {
		t.Error(err)
	}
	leave()
	leave()
	if err := <-raised; err != nil {
		t.Error(err)
	}
	if err := fences[0].Raise(t.Context(), g, 1<<63); !errors.Is(err, scoll.EINVAL) || fences[1].Epoch() != 5 {
		t.Errorf("the highest epoch: %v", err)
	}
}

// TestBarrierLast: members may close their agents as soon as they have passed a barrier. Their
// answers, and those of members below them in the tree, still reach the leader.
func TestBarrierLast(t *testing.T) {
	const n = 6
	for range 2 {
		agents, nids := members(t, n)
		barriers := make([]*collective.Barrier, n)
		for i, a := range agents {
			var err error
			if barriers[i], err = collective.NewBarrier(a, service); err != nil {
				t.Fatal(err)
			}
		}
		g := group(t, agents[0], nids)
		each(t, n, func(i int) error {
			if i == 0 {
				_, err := barriers[0].Lead(t.Context(), g, "the end")
				return err
			}
			err := barriers[i].Wait(t.Context(), "the end")
			if err := agents[i].Close(t.Context()); err != nil {
				t.Error(err)
			}
			return err
		})
	}
}

// TestOtherService: a group that belongs to another service is refused, and the error names
// both services.
func TestOtherService(t *testing.T) {
	agents, nids := members(t, 1)
	if _, err := collective.NewBarrier(agents[0], service); err != nil {
		t.Fatal(err)
	}
	b, err1 := collective.NewBarrier(agents[0], 8)
	gather, err2 := collective.NewAllgather(agents[0], 9, 10)
	f, err3 := collective.NewFence(agents[0], collective.FenceConfig{Service: 10})
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	g := group(t, agents[0], nids)
	_, err1 = b.Lead(t.Context(), g, "x")
	_, err2 = gather.Lead(t.Context(), g, "x", nil)
	err3 = f.Raise(t.Context(), g, 1)
	for i, err := range []error{err1, err2, err3} {
		want := fmt.Sprintf("collective: the group is one of service 7, and not of this one, %d: invalid", 8+i)
		if !errors.Is(err, scoll.EINVAL) || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
