package health_test

import (
	"errors"
	"testing"
	"time"

	"ulnet/health"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestLeaveWhenAttached: CH-73: a program leaves as soon as the client is connected to a server, before the client
// has told the program that this server is its master. Wait returns ErrClosed from then on.
func TestLeaveWhenAttached(t *testing.T) {
	spec.Covers(t, "CH-73")
	const client = servers
	c := newCluster(t, 1)
	c.bare[client] = true
	c.run(time.Second)
	chosen := false
	notify := func(e health.ClientEvent) {
		switch e.Kind {
		case health.Attached:
			c.conns[client].Leave()
		case health.MasterChosen:
			chosen = true
		}
	}
	c.hosts[client].Do(func() {
		var err error
		if c.conns[client], err = health.Dial(c.tables[client], health.DialConfig{Name: "client", Servers: c.ids, Notify: notify}); err != nil {
			t.Error(err)
		}
	})
	c.run(5 * time.Second)
	if !chosen {
		t.Error("no master was chosen, so this test shows nothing")
	}
	if master, err := c.conns[client].Wait(t.Context()); !errors.Is(err, health.ErrClosed) || master != (nid.NID{}) {
		t.Errorf("%v, %v", master, err)
	}
}
