package scoll

import (
	"strings"
	"testing"
	"time"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/modules/gossip"
	"ulnet/lnet/nid"
)

// TestTrustFollowsGossip: after an init with other participants, and after a change of their list
// while gossip runs, this node judges actions and strangers by the new participants. A node that
// was taken off the list is not trusted any more. Attempts of broadcasts follow the interval of the
// init.
func TestTrustFollowsGossip(t *testing.T) {
	root, before, after := nidAt("127.0.0.71"), nidAt("10.0.0.2"), nidAt("10.0.0.3")
	m := scollNodes(t, 1, func(c *config.Config) {
		c.Gossip.NIDs, c.Gossip.Start = []nid.NID{root, before}, false
		c.Scoll.Admin.AllowRoots = setsOf(t, "127.0.0.71@tcp")
	})[0]
	c, g := m.running.Load(), m.gossip.(*gossip.Module)
	trusts := func(when string, id nid.NID, want bool) {
		t.Helper()
		if got := c.mayAct(root, id); got != want {
			t.Errorf("%s: %v may pass on actions: %v", when, id, got)
		}
		if got := !c.isStranger(id); got != want {
			t.Errorf("%s: %v is listed: %v", when, id, got)
		}
	}
	trusts("as configured", before, true)
	trusts("as configured", after, false)

	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	one := gossip.NewInitRequest(m.Config.Gossip)
	one.IntervalMS = 3000
	check(g.Init(one, strings.NewReader("127.0.0.71@tcp\n10.0.0.3@tcp")))
	trusts("after an init", before, false)
	trusts("after an init", after, true)

	check(g.Start())
	if got, want := m.propagation(), newsCycles*3*time.Second; got != want {
		t.Errorf("broadcasts wait %v before another attempt, want %v", got, want)
	}
	check(g.Stage(strings.NewReader("127.0.0.71@tcp\n10.0.0.2@tcp")))
	check(g.Commit(gossip.CommitRequest{Anyway: true}))
	trusts("after a change of the list", before, true)
	trusts("after a change of the list", after, false)
}
