package zone_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"ulnet/gossip/zone"
	"ulnet/lnd/lndtest/spec"
)

// TestAgents: MS-9, MS-10, MS-40, MS-A14, MS-A30, MS-A33: agents on whole stacks boot. They
// notice a death by broken connections, a silent node by missing heartbeats, a restart, a
// goodbye with its code, and a node that returns in the same process.
func TestAgents(t *testing.T) {
	spec.Covers(t, "MS-9", "MS-10", "MS-40", "MS-A14", "MS-A30", "MS-A33")
	const n = 20
	c := newCluster(t, n, nil)
	c.until(20*time.Second, func() bool { return c.all(n) })
	c.run(20 * time.Second)
	for i := range n {
		for _, e := range c.events[i] {
			if e.Kind == zone.Left || e.Kind == zone.Suspected {
				t.Errorf("node %d: %+v", i, e)
			}
		}
	}

	c.fabric.Kill(5)
	took := c.until(20*time.Second, func() bool { return c.all(n-1, 5) })
	t.Logf("death: %v", took)
	for i := range n {
		if e := c.events[i][len(c.events[i])-1]; i != 5 && (e.Kind != zone.Left && e.Kind != zone.Suspected || e.ID != agentID(5)) {
			t.Errorf("node %d: %+v", i, e)
		}
	}
	c.fabric.Start(5, false)
	c.until(30*time.Second, func() bool { return c.all(n) })

	c.do(7, func(a *zone.Agent) {
		if err := a.Leave(-3); err != nil {
			t.Error(err)
		}
		if err := a.Leave(0); err != zone.ErrNotJoined {
			t.Error(err)
		}
	})
	c.until(5*time.Second, func() bool { return c.all(n-1, 7) })
	for i := range n {
		if e := c.events[i][len(c.events[i])-1]; i != 7 && (e.Cause != zone.Said || e.Code != -3) {
			t.Errorf("MS-40: node %d: %+v", i, e)
		}
	}
	if len(c.views[7]) != 0 {
		t.Errorf("who left has %d members", len(c.views[7]))
	}
	c.do(7, func(a *zone.Agent) {
		if err := a.Join(1); err != zone.ErrOldIncarnation {
			t.Errorf("MS-A33: %v", err)
		}
		if err := a.Join(0); err != nil {
			t.Error(err)
		}
		if err := a.Join(0); err != zone.ErrJoined {
			t.Error(err)
		}
	})
	c.until(30*time.Second, func() bool { return c.all(n) })
}

// TestAgentAttributes: MS-70, MS-74, MS-85, MS-89: all nodes get the attributes that a node
// writes, in the order in which it writes them, and so does a listener that begins later.
func TestAgentAttributes(t *testing.T) {
	spec.Covers(t, "MS-70", "MS-74", "MS-85", "MS-89")
	const n = 16
	c := newCluster(t, n, nil)
	c.until(20*time.Second, func() bool { return c.all(n) })
	for k := range 50 {
		c.do(3, func(a *zone.Agent) {
			if err := a.Set(fmt.Sprintf("key%d", k%5), fmt.Append(nil, k)); err != nil {
				t.Error(err)
			}
		})
		c.run(20 * time.Millisecond)
		for i, a := range c.agents {
			last := -1
			list, _ := a.Attributes(agentID(3))
			for _, at := range list {
				var v int
				if _, err := fmt.Sscan(string(at.Value), &v); err != nil || v <= last {
					t.Fatalf("MS-74: node %d: %v after %d: %v", i, at, last, err)
				}
				last = v
			}
		}
	}
	has := func(count int) func() bool {
		return func() bool {
			for _, a := range c.agents {
				if list, _ := a.Attributes(agentID(3)); len(list) != count {
					return false
				}
			}
			return true
		}
	}
	c.until(5*time.Second, has(5))
	c.do(3, func(a *zone.Agent) {
		if err := a.Delete("key0"); err != nil {
			t.Error(err)
		}
		if err := a.Set("", nil); err != zone.ErrKey {
			t.Error(err)
		}
	})
	c.until(5*time.Second, has(4))
	var late []zone.Event
	c.do(9, func(a *zone.Agent) { a.Watch(func(e zone.Event) { late = append(late, e) }) })
	c.run(time.Second)
	joined, attributes := 0, 0
	for _, e := range late {
		switch e.Kind {
		case zone.Joined:
			joined++
		case zone.AttributesChanged:
			attributes += len(e.Attributes)
		}
	}
	if joined != n-1 || attributes != 4 {
		t.Errorf("a late listener was told of %d nodes and %d attributes", joined, attributes)
	}
	c.do(4, func(a *zone.Agent) {
		if err := a.Set("big", make([]byte, 256<<10)); !errors.Is(err, zone.ErrTable) {
			t.Errorf("an attribute that is too large: %v", err)
		}
		var err error
		for k := 0; err == nil && k <= 8192; k++ {
			err = a.Set(fmt.Sprint("key", k), nil)
		}
		if !errors.Is(err, zone.ErrKeys) {
			t.Errorf("too many attributes: %v", err)
		}
	})
}

// TestAgentMonitor: MS-60, MS-A14, MS-A32: a monitor is notified of a killed process long
// before heartbeats would show its death.
func TestAgentMonitor(t *testing.T) {
	spec.Covers(t, "MS-60", "MS-A14", "MS-A32")
	const n = 16
	c := newCluster(t, n, nil)
	c.until(20*time.Second, func() bool { return c.all(n) })
	c.do(2, func(a *zone.Agent) {
		if err := a.Set(zone.MonitorKey, nil); err != nil {
			t.Error(err)
		}
	})
	c.until(10*time.Second, func() bool {
		for i, a := range c.agents {
			if i != 2 && a.Status().Monitors != 1 {
				return false
			}
		}
		return true
	})
	c.fabric.Kill(11)
	took := c.until(10*time.Second, func() bool { _, there := c.views[2][agentID(11)]; return !there })
	if took > 500*time.Millisecond {
		t.Errorf("MS-A14: a monitor heard of a death after %v", took)
	}
}
