package collective_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

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
