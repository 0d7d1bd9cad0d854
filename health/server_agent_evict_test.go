package health_test

import (
	"errors"
	"testing"
	"time"

	"ulnet/health"
	"ulnet/lnd/lndtest/spec"
)

// TestEvictStopped: each order to evict a client is answered once, also by an agent that has
// been stopped and has no clients any more.
func TestEvictStopped(t *testing.T) {
	spec.Covers(t, "CH-73")
	c := newCluster(t, 1)
	c.run(4 * time.Second)
	c.wantAll(servers, servers)
	id := c.conns[servers].Status().Client
	for i, a := range c.agents[:servers] {
		var answers []health.Code
		evict := func() { a.Evict(id, func(r health.EvictResult) { answers = append(answers, r.Code) }) }
		c.hosts[i].Do(func() {
			if err := a.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
		c.hosts[i].Do(evict)
		c.run(time.Second)
		if len(answers) != 1 || answers[0] != health.NotConnected {
			t.Errorf("server %d answers %v", i, answers)
		}
	}
}

// TestDrainStopped: an agent that has been stopped refuses to begin or end draining.
func TestDrainStopped(t *testing.T) {
	spec.Covers(t, "CH-73")
	c := newCluster(t, 0)
	c.run(time.Second)
	a := c.agents[0]
	c.hosts[0].Do(func() {
		if err := a.Close(t.Context()); err != nil {
			t.Error(err)
		}
		for _, err := range []error{a.Drain(true, false), a.Drain(true, true), a.Drain(false, false)} {
			if !errors.Is(err, health.ErrClosed) {
				t.Errorf("got %v", err)
			}
		}
	})
	c.run(time.Second)
	if a.Status().Draining {
		t.Error("the agent drains")
	}
}
