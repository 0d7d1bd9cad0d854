package health_test

import (
	"testing"
	"time"

	"ulnet/health"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// chatter makes a host send messages that do not belong to client health to a server, as another
// program on the node would: one per second while the host runs.
func (c *cluster) chatter(i int, to nid.NID, d time.Duration) {
	c.t.Helper()
	for range d / time.Second {
		c.hosts[i].Do(func() {
			md, err := c.tables[i].MDBind(portals.MD{Threshold: 1, Options: portals.AckDisable}, portals.Unlink)
			if err == nil {
				err = c.tables[i].Put(portals.PutRequest{MD: md, Target: nid.ProcessID{NID: to, PID: nid.LustrePID}, Portal: 40, MatchBits: 1})
			}
			if err != nil {
				c.t.Error(err)
			}
		})
		c.run(time.Second)
	}
}

// TestNodeTalksOn: CH-8, CH-10: a client has ended while its node goes on sending other messages
// to the master. Either the client's last message was lost, or the node was restarted without
// the client. In both cases it is evicted everywhere within 2·T_evict and two ticks.
func TestNodeTalksOn(t *testing.T) {
	spec.Covers(t, "CH-8", "CH-10")
	for _, test := range []struct {
		name string
		gone func(c *cluster, i int)
	}{
		{"closed, and the message is lost", func(c *cluster, i int) {
			c.fabric.Cut(sim.Nodes(sim.NodeID(i)), sim.AllNodes)
			c.hangUp(i)
			c.run(time.Second)
			c.fabric.Heal()
		}},
		{"restarted without it", func(c *cluster, i int) {
			c.bare[i] = true
			c.fabric.Kill(sim.NodeID(i))
			c.run(time.Second)
			c.fabric.Start(sim.NodeID(i), false)
			c.run(time.Second)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t, 2)
			c.run(10 * time.Second)
			gone, stays := servers, servers+1
			c.wantAll(gone, servers)
			master := c.conns[gone].Status().Master
			client := c.conns[gone].Status().Client
			test.gone(c, gone)
			const evict, tick = 17500 * time.Millisecond, time.Second // the defaults of T_evict and of the server's tick
			c.chatter(gone, master, 2*evict+2*tick+2*time.Second)
			for i := range servers {
				if info, ok := c.agents[i].Client(client); ok {
					t.Errorf("server %d still has it: %+v", i, info)
				}
			}
			c.chatter(stays, c.conns[stays].Status().Master, 3*evict)
			c.wantAll(stays, servers)
			if n := c.count(stays, health.Evicted); n != 0 {
				t.Errorf("a busy client was evicted %d times", n)
			}
		})
	}
}
