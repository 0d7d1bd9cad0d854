package health_test

import (
	"testing"
	"time"

	"ulnet/health"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
)

// redial closes the connection of host i, and dials again with another id or incarnation of the
// client.
func (c *cluster) redial(i int, cfg health.DialConfig) {
	c.t.Helper()
	c.hangUp(i)
	cfg.Name, cfg.Servers, cfg.Attach = "client", c.ids, c.ids
	cfg.Notify = func(e health.ClientEvent) { c.told[i] = append(c.told[i], e) }
	c.hosts[i].Do(func() {
		var err error
		if c.conns[i], err = health.Dial(c.tables[i], cfg); err != nil {
			c.t.Error(err)
		}
	})
}

// TestTakenWhileAway: CH-61, CH-A21: a client is cut off for so long that it is evicted. Another
// node connects under the client's id, with a later incarnation. Then the network is whole again.
// The other node answers the servers, so it stays connected, and the client is refused. But if
// the id is derived from the client's own NID and PID, the client is accepted, and the other node
// is refused. In both cases the other node may have any later incarnation number, also the one
// that the client takes for its own next incarnation.
func TestTakenWhileAway(t *testing.T) {
	spec.Covers(t, "CH-61", "CH-A21")
	const away, taker = servers, servers + 1
	for _, own := range []bool{true, false} {
		for _, later := range []uint64{1, 2, 1000} {
			c := newCluster(t, 2)
			c.run(4 * time.Second)
			if !own {
				c.redial(away, health.DialConfig{ID: health.ClientIDOf("named")})
				c.run(4 * time.Second)
			}
			was := c.conns[away].Status()
			c.fabric.Cut(sim.Nodes(away), sim.AllNodes)
			c.fabric.Cut(sim.AllNodes, sim.Nodes(away))
			c.run(70 * time.Second)
			c.redial(taker, health.DialConfig{ID: was.Client, Incarnation: was.Incarnation + later})
			c.run(10 * time.Second)
			c.wantAll(taker, servers)
			c.fabric.Heal()
			c.run(time.Minute)
			stays, loses, state := taker, away, "electing"
			if own {
				stays, loses, state = away, taker, "resting"
			}
			c.wantAll(stays, servers)
			if st := c.conns[loses].Status(); st.State != state || (c.count(loses, health.Superseded) > 0) != own {
				t.Errorf("own id: %v, %d later: %+v", own, later, st)
			}
		}
	}
}
