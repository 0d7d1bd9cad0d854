package collective_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/scoll"
	"ulnet/scoll/collective"
)

// TestBarrierMissing: if a member does not enter before the deadline, the leader's call returns which
// one, and the other member that has entered gets ErrIncomplete, both in virtual time.
func TestBarrierMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agents, nids := mesh(t, 3, scoll.Config{RTT: 10 * time.Millisecond})
		var barriers []*collective.Barrier
		for _, a := range agents {
			b, err := collective.NewBarrier(a, service)
			if err != nil {
				t.Fatal(err)
			}
			barriers = append(barriers, b)
		}
		g := group(t, agents[0], nids)
		const within = 500 * time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		began, other := time.Now(), make(chan error, 1)
		go func() { other <- barriers[1].Wait(t.Context(), "x") }()
		r, err := barriers[0].Lead(ctx, g, "x")
		if err == nil || r == nil || r.Answered != 2 || len(r.Failed) != 1 || r.Failed[0].NID != nids[2] {
			t.Errorf("the leader: %+v, %v", r, err)
		}
		if e := <-other; !errors.Is(e, collective.ErrIncomplete) {
			t.Errorf("the other: %v", e)
		}
		if took := time.Since(began); took < within/2 || took > within {
			t.Errorf("over after %v, the deadline is after %v", took, within)
		}
		misused(t, barriers[2], "x")
	})
}

// TestLateLeaf: the tree is a chain of root, middle and leaf. The context of the middle's Join ends before the leaf
// has joined, and the caller of that Join overwrites its data. The result still has the data with which the middle has
// joined.
func TestLateLeaf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agents, nids := mesh(t, 3, scoll.Config{RTT: 10 * time.Millisecond})
		var gathers []*collective.Allgather
		for _, a := range agents {
			g, err := collective.NewAllgather(a, service, 16)
			if err != nil {
				t.Fatal(err)
			}
			gathers = append(gathers, g)
		}
		var g *scoll.Group
		members, err := scoll.NewMembership([]scoll.Target{
			{NID: nids[0], Entities: []scoll.Entity{{0}}}, {NID: nids[1], Entities: []scoll.Entity{{1}}}, {NID: nids[2], Entities: []scoll.Entity{{2}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		agents[0].CreateGroup(scoll.GroupConfig{Service: service, Members: members, Tree: scoll.Tree{Type: scoll.KAry, K: 1}, Done: func(made *scoll.Group, err error) {
			if g = made; err != nil {
				t.Error(err)
			}
		}})
		middle, giveUp := context.WithCancel(t.Context())
		data, left, led := []byte("middle"), make(chan struct{}), make(chan *scoll.Result, 1)
		go func() {
			_, _ = gathers[1].Join(middle, "x", data)
			copy(data, "DDDDDD")
			close(left)
		}()
		go func() {
			r, err := gathers[0].Lead(t.Context(), g, "x", []byte("root"))
			if err != nil {
				t.Error(err)
			}
			led <- r
		}()
		time.Sleep(100 * time.Millisecond) // in the bubble: until the middle was asked
		giveUp()
		<-left
		go func() { _, _ = gathers[2].Join(t.Context(), "x", []byte("leaf")) }()
		r := <-led
		got := make(map[string]bool)
		for _, answer := range r.Each() {
			got[string(answer)] = true
		}
		if len(got) != 3 || !got["middle"] {
			t.Errorf("%v", got)
		}
	})
}

// TestUntold: all members come, but one is not told so. Lead returns that as an error of its own, which names the member,
// and the data of all. The others go on.
func TestUntold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last nid.NID
		opens := []byte{1, 0, 1, 'x'} // the question that tells members of the point x that all have come
		agents, nids := meshWith(t, 3, scoll.Config{RTT: 10 * time.Millisecond}, func(m *lnd.Message) bool {
			return m.Header.DestNID == last && bytes.Contains(bytes.Join(m.Payload.Append(nil), nil), opens)
		})
		last = nids[2]
		var gathers []*collective.Allgather
		for _, a := range agents {
			g, err := collective.NewAllgather(a, service, 16)
			if err != nil {
				t.Fatal(err)
			}
			gathers = append(gathers, g)
		}
		g := group(t, agents[0], nids)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		for i, ctx := range map[int]context.Context{1: t.Context(), 2: ctx} {
			go func() {
				_, err := gathers[i].Join(ctx, "x", []byte{byte(i)})
				ended <- err
			}()
		}
		r, err := gathers[0].Lead(t.Context(), g, "x", []byte{0})
		var told *scoll.Error
		if !errors.Is(err, collective.ErrUntold) || !errors.As(err, &told) || len(told.Result.Unreached) != 1 || told.Result.Unreached[0].NID != last {
			t.Errorf("the leader: %v", err)
		}
		if r == nil || r.Answered != 3 || errors.Is(err, collective.ErrIncomplete) {
			t.Errorf("the leader: %+v", r)
		}
		if err := <-ended; err != nil {
			t.Errorf("the member that was told: %v", err)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the other: %v", err)
		}
	})
}

// misused calls Wait in ways that are errors.
func misused(t *testing.T, b *collective.Barrier, point string) {
	t.Helper()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Wait(over, point); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	both, end := context.WithCancel(t.Context())
	defer end()
	ended := make(chan error, 2)
	for range 2 {
		go func() { ended <- b.Wait(both, "y") }()
	}
	if err := <-ended; !errors.Is(err, collective.ErrTwice) {
		t.Errorf("two wait at one point: %v", err)
	}
	end()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the first of the two: %v", err)
	}
	if err := b.Wait(t.Context(), ""); !errors.Is(err, collective.ErrName) {
		t.Error(err)
	}
}
