package zone_test

import (
	"fmt"
	"testing"
	"time"

	"ulnet/gossip/zone"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
)

// hierarchy returns three supervisors, followed by zones of five nodes each.
func hierarchy(t *testing.T, zones int) *cluster {
	const supervisors, size = 3, 5
	var management []zone.ID
	for i := range supervisors {
		management = append(management, agentID(i))
	}
	return newCluster(t, supervisors+zones*size, func(i int, cfg *zone.Config) {
		if i < supervisors {
			cfg.Zone, cfg.Supervisor, cfg.Bootstrap = "management", true, management
			return
		}
		k := (i - supervisors) / size
		cfg.Zone, cfg.Management = fmt.Sprintf("zone%d", k), management
		cfg.Bootstrap = []zone.ID{agentID(supervisors + k*size), agentID(supervisors + k*size + 1)}
	})
}

// census returns a function that reports whether all supervisors except one know these sizes of
// zones.
func (c *cluster) census(but int, sizes ...int) func() bool {
	return func() bool {
		for i := range 3 {
			if i == but {
				continue
			}
			list := c.agents[i].Census()
			if len(list) != len(sizes) {
				return false
			}
			for k, e := range list {
				if e.Size != sizes[k] {
					return false
				}
			}
		}
		return true
	}
}

// TestAgentHierarchy: MS-95, MS-96, MS-97, MS-98, MS-99, MS-100: whole stacks form two base
// zones and a management zone. The census is right at all supervisors, even after the death of
// a delegate and of a supervisor. A query returns the members of a zone, also if the zone's supervisor dies meanwhile.
func TestAgentHierarchy(t *testing.T) {
	spec.Covers(t, "MS-95", "MS-96", "MS-97", "MS-98", "MS-99", "MS-100", "MS-A24")
	c := hierarchy(t, 2)
	c.run(time.Second)
	took := c.until(30*time.Second, c.census(-1, 5, 5))
	t.Logf("census: %v", took)

	entry := c.agents[0].Census()[1]
	victim := 0
	for i := range c.agents {
		if agentID(i) == entry.Delegate {
			victim = i
		}
	}
	c.fabric.Kill(sim.NodeID(victim))
	t.Logf("delegate: %v", c.until(30*time.Second, c.census(-1, 5, 4)))
	if e := c.agents[0].Census()[1]; e.Delegate == entry.Delegate || e.Activation <= entry.Activation {
		t.Errorf("MS-A24: %+v after %+v", e, entry)
	}

	dead := 0
	for i := range 3 {
		if agentID(i) == c.agents[0].Census()[0].Supervisor {
			dead = i
		}
	}
	ask := func(name string) (members []zone.Named, err error) {
		done := false
		c.do((dead+1)%3, func(a *zone.Agent) {
			a.Query(name, func(m []zone.Named, e error) { members, err, done = m, e, true })
		})
		c.until(10*time.Second, func() bool { return done })
		return members, err
	}
	c.fabric.Kill(sim.NodeID(dead))
	if members, err := ask("zone0"); err != nil || len(members) != 5 { // the first request is lost
		t.Errorf("MS-99: right after the supervisor's death: %d members, %v", len(members), err)
	}
	t.Logf("supervisor: %v", c.until(30*time.Second, func() bool {
		if !c.census(dead, 5, 4)() {
			return false
		}
		for _, e := range c.agents[(dead+1)%3].Census() {
			if e.Supervisor == agentID(dead) {
				return false
			}
		}
		return true
	}))

	if members, err := ask("zone0"); err != nil || len(members) != 5 {
		t.Errorf("MS-99: %d members, %v", len(members), err)
	}
	if _, err := ask("nowhere"); err != zone.ErrUnguarded {
		t.Errorf("MS-99: %v", err)
	}
}
