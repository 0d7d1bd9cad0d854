package rmcast_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast"
)

// TestLeaveUnfinished: RM-A11: a member leaves while the others do not acknowledge its message. After LeaveAfter,
// Leave returns ErrUnfinished and names the managers that do not answer.
func TestLeaveUnfinished(t *testing.T) {
	spec.Covers(t, "RM-A11")
	synctest.Test(t, func(t *testing.T) {
		r := newRing(t, 2)
		e := r.ends[1]
		r.running = true // the network holds all messages back
		posted := error(nil)
		e.group.Post(nil, func(_ rmcast.Result, err error) { posted = err })
		err := e.group.Leave(t.Context())
		if !errors.Is(err, rmcast.ErrUnfinished) || !errors.Is(posted, rmcast.ErrLeft) {
			t.Errorf("left: %v, the message: %v", err, posted)
		}
	})
}

// TestNoManager: a call that waits for a group without a manager fails with an error that gives
// this reason and names the managers. The error of Members says that this node has not joined
// yet.
func TestNoManager(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRing(t, 2)
		manager := r.ends[0].NID()
		g, err := r.ends[1].agent.Join(rmcast.GroupConfig{
			Group: group + 1, Managers: []nid.NID{manager}, Handle: func(*rmcast.Message) {},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, send := g.Send(ctx, nil)
		for what, err := range map[string]error{"ready": g.Ready(ctx), "send": send} {
			if !errors.Is(err, rmcast.ErrNoManager) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), manager.String()) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if _, err := g.Members(); !errors.Is(err, rmcast.ErrNotYet) {
			t.Errorf("members: %v", err)
		}
	})
}

// TestChangesRise: OnChange is called at most once for each list, and never for an earlier
// list than before.
func TestChangesRise(t *testing.T) {
	told := make(map[int][]rmcast.Version)
	s := newStacks(t, 4, link.Quality{}, func(id int, _ *rmcast.Config, cfg *rmcast.GroupConfig) {
		cfg.OnChange = func(v rmcast.Version, _ error) { told[id] = append(told[id], v) }
	})
	s.form(4)
	for id, list := range told {
		for i := range list[1:] {
			if list[i+1].Compare(list[i]) <= 0 {
				t.Errorf("node %d is told of %v", id, list)
			}
		}
	}
	if len(told) != 4 {
		t.Errorf("%d nodes were told", len(told))
	}
}
