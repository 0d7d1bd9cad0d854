package health_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ulnet/health"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnet/nid"
)

// TestLeave: CH-8: a client leaves while all messages are lost. All servers forget the client
// soon after messages arrive again, before T_evict has passed. The node can become a client
// again at once, and late messages of the earlier connection do not end the new one.
func TestLeave(t *testing.T) {
	spec.Covers(t, "CH-8")
	c := newCluster(t, 1)
	c.run(10 * time.Second)
	const i = servers
	c.wantAll(i, servers)
	client := c.conns[i].Status().Client
	c.fabric.Cut(sim.Nodes(sim.NodeID(i)), sim.AllNodes)
	var over <-chan struct{}
	c.hosts[i].Do(func() { over = c.conns[i].Leave() })
	c.run(time.Second)
	select {
	case <-over:
		t.Fatal("over though nothing arrives")
	default:
	}
	c.fabric.Heal()
	c.run(4 * time.Second)
	select {
	case <-over:
	default:
		t.Error("it is not over 4 s after the network is well")
	}
	for k, a := range c.agents[:servers] {
		if info, ok := a.Client(client); ok {
			t.Errorf("server %d still has it: %+v", k, info)
		}
		left := 0
		for _, e := range c.events[k] {
			if e.Kind == health.ClientEvicted && e.Cause == health.Left {
				left++
			}
		}
		if left != 1 {
			t.Errorf("server %d was told %d times that it left", k, left)
		}
	}
	closed := c.hangUp(i)
	c.dialAgain(t, i, c.ids)
	c.run(4 * time.Second)
	if *closed != nil {
		t.Error(*closed)
	}
	c.wantAll(i, servers)
}

// hangUp makes host i close its connection at the next step of the simulated network, without
// waiting for answers of the servers. The result points to the error that Close returns.
func (c *cluster) hangUp(i int) *error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := new(error)
	c.hosts[i].Do(func() { *err = c.conns[i].Close(ctx) })
	return err
}

// dialAgain makes a host a client, if it has no connection or has closed the one that it had.
func (c *cluster) dialAgain(t *testing.T, i int, attach []nid.NID) {
	t.Helper()
	c.hosts[i].Do(func() {
		var err error
		c.conns[i], err = health.Dial(c.tables[i], health.DialConfig{Name: "client", Servers: c.ids, Attach: attach})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestCloseThenDial: CH-8: a client closes its connection while no message arrives, and dials
// again at once in the same incarnation of its node. The client is connected, and stays
// connected.
func TestCloseThenDial(t *testing.T) {
	spec.Covers(t, "CH-8")
	c := newCluster(t, 1)
	c.run(10 * time.Second)
	const i = servers
	c.fabric.Cut(sim.Nodes(sim.NodeID(i)), sim.AllNodes)
	closed, again := c.hangUp(i), c.hangUp(i) // the second Close returns the same error as the first, and does not wait
	c.dialAgain(t, i, c.ids)
	c.run(time.Second)
	for _, err := range []error{*closed, *again} {
		if !errors.Is(err, health.ErrUnaware) || !strings.Contains(err.Error(), c.ids[0].String()) || !strings.Contains(err.Error(), c.ids[servers-1].String()) {
			t.Errorf("closed while nothing arrives: %v", err)
		}
	}
	c.fabric.Heal()
	c.run(10 * time.Second)
	c.wantAll(i, servers)
	c.run(40 * time.Second)
	c.wantAll(i, servers)
}
