package rmcast_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/scoll/rmcast"
)

// TestAgentQuorum: while the manager hears no majority of the members, Members, Send and the
// manager's status report that. When the silent members are expelled, messages end without an
// error.
func TestAgentQuorum(t *testing.T) {
	s := newStacks(t, 3, link.Quality{}, nil)
	s.form(3)
	k := s.nodes[0]
	if list, err := k.group.Members(); err != nil || len(list) != 3 {
		t.Errorf("%v, %v", list, err)
	}
	s.fabric.Crash(sim.NodeID(1))
	s.fabric.Crash(sim.NodeID(2))
	var sending *rmcast.Sending
	k.host.Do(func() {
		var err error
		if sending, err = k.group.SendAsync(t.Context(), []byte("x")); err != nil {
			t.Error(err)
		}
	})
	k.post("y")
	s.run(10 * time.Second)
	if list, err := k.group.Members(); !errors.Is(err, rmcast.ErrQuorum) || len(list) != 3 {
		t.Errorf("%v, %v", list, err)
	}
	if m, ok := k.agent.Managed(group); !ok || !m.Alone || !m.Active {
		t.Errorf("%+v", m)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sending.Wait(ctx); !errors.Is(err, rmcast.ErrQuorum) || !errors.Is(err, context.Canceled) {
		t.Errorf("send: %v", err)
	}
	var other *rmcast.ErrNotManager
	if err := k.agent.Expel(group+1, simlnd.NID(1)); !errors.As(err, &other) {
		t.Errorf("expel from another group: %v", err)
	}
	k.host.Do(func() {
		for id := range sim.NodeID(3) {
			if id == 0 {
				continue
			}
			if err := k.agent.Expel(group, simlnd.NID(id)); err != nil {
				t.Error(err)
			}
		}
	})
	s.run(2 * time.Second)
	if list, err := k.group.Members(); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	if len(k.done) != 1 || k.done[0].err != nil || len(k.done[0].result.Failed) != 2 {
		t.Errorf("%+v", k.done)
	}
}
