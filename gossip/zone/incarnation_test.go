package zone_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"ulnet/gossip/zone"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/simlnd"
)

// closed closes an agent.
func closed(t *testing.T, a *zone.Agent) {
	t.Helper()
	if err := a.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestAgentStop: when an agent stops, the other nodes consider its node dead. The stopped agent reports no
// more events, and returns an error to its users.
func TestAgentStop(t *testing.T) {
	const n = 4
	c := newCluster(t, n, nil)
	c.until(20*time.Second, func() bool { return c.all(n) })
	told := 0
	c.do(1, func(a *zone.Agent) {
		closed(t, a)
		closed(t, a)
		told = len(c.events[1])
		if err := errors.Join(a.Set("key", nil), a.Delete("key"), a.Leave(0)); !errors.Is(err, zone.ErrNotJoined) || a.Joined() {
			t.Errorf("who stopped takes part: %v", err)
		}
		if err := a.Join(0); err != zone.ErrClosed {
			t.Errorf("who stopped joins: %v", err)
		}
		a.Query("base", func(_ []zone.Named, err error) {
			if err != zone.ErrNotJoined {
				t.Errorf("who stopped asks: %v", err)
			}
		})
		a.Watch(func(e zone.Event) { t.Errorf("who stopped tells: %+v", e) })
	})
	c.until(30*time.Second, func() bool { return c.all(n-1, 1) })
	if len(c.events[1]) != told {
		t.Error("it tells of more after its end")
	}
}

// TestAgentAgain: MS-6, MS-A33, MS-A17: another agent on the same node, in the same process, is a new
// incarnation. Other nodes report that, and its first write replaces all writes of the earlier
// incarnation, although the earlier one wrote more often.
func TestAgentAgain(t *testing.T) {
	spec.Covers(t, "MS-6", "MS-A17", "MS-A33")
	const n = 8
	c := newCluster(t, n, nil)
	c.until(20*time.Second, func() bool { return c.all(n) })
	c.do(3, func(a *zone.Agent) {
		for k := range 9 {
			if err := a.Set("key", []byte{byte(k)}); err != nil {
				t.Error(err)
			}
		}
	})
	shown := func(value byte) func() bool {
		return func() bool {
			return !slices.ContainsFunc(c.agents, func(a *zone.Agent) bool {
				list, _ := a.Attributes(agentID(3))
				return len(list) != 1 || list[0].Value[0] != value
			})
		}
	}
	c.until(10*time.Second, shown(8))
	c.do(3, func(a *zone.Agent) {
		last := a.Status().Version.Inc
		closed(t, a)
		cfg := c.config(3)
		cfg.Last = last
		again, err := zone.New(c.tables[3], cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Join(last); err != zone.ErrOldIncarnation {
			t.Errorf("MS-6: an old life: %v", err)
		}
		if err := errors.Join(again.Join(0), again.Set("key", []byte{77})); err != nil {
			t.Error(err)
		}
		if v := again.Status().Version.Inc; v <= last {
			t.Errorf("MS-6: life %d after %d", v, last)
		}
		c.agents[3], c.views[3] = again, make(map[zone.ID]zone.Version)
		again.Watch(func(e zone.Event) { c.told(3, e) })
	})
	c.until(20*time.Second, func() bool { return c.all(n) && shown(77)() })
}

// TestAgentKeeps: MS-A2, MS-6: a node whose clock was put back takes a higher number than the
// others know, and stores it before sending it. Its next incarnation begins above that, and
// needs no refutation.
func TestAgentKeeps(t *testing.T) {
	spec.Covers(t, "MS-6", "MS-A2")
	const n, victim = 6, 2
	var kept []uint64
	c := newCluster(t, n, func(i int, cfg *zone.Config) {
		if i != victim {
			return
		}
		if len(kept) > 0 {
			cfg.Last = kept[len(kept)-1]
		}
		cfg.Keep = func(inc uint64) { kept = append(kept, inc) }
	})
	c.until(20*time.Second, func() bool { return c.all(n) })
	before := c.agents[0].Explain(agentID(victim)).Version
	if len(kept) != 0 {
		t.Fatalf("an incarnation with the number of its node keeps %d", kept)
	}
	c.number = func(h *simlnd.Host) uint64 {
		if int(h.ID()) == victim {
			return 1
		}
		return h.LNetIncarnation()
	}
	c.fabric.Kill(victim)
	c.run(time.Second)
	c.fabric.Start(victim, false)
	c.until(60*time.Second, func() bool { return c.all(n) })
	now := c.agents[0].Explain(agentID(victim)).Version
	if now.Inc <= before.Inc || len(kept) == 0 || kept[len(kept)-1] != now.Inc {
		t.Fatalf("MS-A2: %v after %v, kept %d", now, before, kept)
	}
	c.fabric.Kill(victim)
	c.run(time.Second)
	c.fabric.Start(victim, false)
	c.until(60*time.Second, func() bool {
		return c.all(n) && c.agents[0].Explain(agentID(victim)).Version.Inc > now.Inc
	})
	next := c.agents[0].Explain(agentID(victim)).Version
	if next.Inc != now.Inc+1 || kept[len(kept)-1] != next.Inc {
		t.Errorf("MS-A2: an incarnation as %v after %v, kept %d", next, now, kept)
	}
	for _, e := range c.events[victim] {
		if e.Kind == zone.Refuted && e.Version.Inc == next.Inc {
			t.Errorf("MS-6: it had to refute: %+v", e)
		}
	}
}
