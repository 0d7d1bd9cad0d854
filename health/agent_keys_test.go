package health_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"ulnet/health"
	"ulnet/lnd/lndtest/spec"
	"ulnet/portals/keyring"
)

// TestAgentsWithKeys: CH-A15: clients that have a key of the servers are connected, and others
// are refused with a reason. Changing the keys while all run disconnects no client.
func TestAgentsWithKeys(t *testing.T) {
	spec.Covers(t, "CH-A15")
	keys := func(letters string) (keys keyring.Keys) {
		var list [][]byte
		for _, letter := range letters {
			list = append(list, []byte(strings.Repeat(string(letter), keyring.MinKey)))
		}
		keys, err := keyring.NewKeys(list...)
		if err != nil {
			t.Fatal(err)
		}
		return keys
	}
	c := newCluster(t, 3)
	good, other, none := servers, servers+1, servers+2
	c.keys = map[int]keyring.Keys{0: keys("a"), 1: keys("a"), 2: keys("a"), good: keys("a"), other: keys("b")}
	c.run(30 * time.Second)
	c.wantAll(good, servers)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, i := range []int{other, none} {
		if _, err := c.conns[i].Wait(ctx); err == nil || strings.Count(err.Error(), ": other-key") != servers {
			t.Errorf("client %d: %v", i, err)
		}
	}
	for _, step := range []string{"ab", "ba", "b"} {
		for i := range servers {
			c.hosts[i].Do(func() {
				if err := c.agents[i].SetKeys(keys(step)); err != nil {
					t.Error(err)
				}
			})
		}
		c.run(30 * time.Second)
		c.wantAll(good, servers)
		c.wantAll(other, servers)
	}
	if n := c.count(good, health.Dropped) + c.count(good, health.MasterLost); n != 0 {
		t.Errorf("the first client lost %d connections", n)
	}
}
