package gossip

import (
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
	"ulnet/portals/node"
	"ulnet/scoll/rmcast"
)

// asked counts how often a manager of reliable multicast asks whether a death is certain.
type asked struct {
	rmcast.View
	count int
	ended bool // the latest answer
}

func (a *asked) Ended(id nid.NID, ago time.Duration) bool {
	a.count++
	a.ended = a.View.(rmcast.Certain).Ended(id, ago)
	return a.ended
}

// manage makes the first node the manager of a group, with a view.
func (k *tracked) manage(view rmcast.View) {
	k.fabric.Do(0, func(h *simlnd.Host) {
		agent, err := rmcast.New(h.Data.(*node.Node).Table(), rmcast.Config{View: view})
		if err == nil {
			err = agent.Manage(rmcast.ManagerConfig{Group: 7, Managers: []nid.NID{simlnd.NID(0), simlnd.NID(2)}})
		}
		if err != nil {
			k.t.Error(err)
		}
	})
}

// TestViewSeenDeaths: gossip is stopped and started on all servers but one, which counts as dead in the end. Managers of
// reliable multicast are not told so, and do not ask about this death, because it never becomes certain: the server may
// run, and others may hear it. Gossip starts there, too, and the server dies: that death becomes certain.
func TestViewSeenDeaths(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "GO-83")
	k := viewed(t)
	a := &asked{View: (&Module{view: k.view}).SeenView()}
	k.manage(a)
	k.detach()
	for i := range k.agents {
		k.stop(sim.NodeID(i))
	}
	k.start(0, false)
	k.start(1, false)
	k.follow()
	k.run(time.Minute)
	k.is(2, Vital{Deaths: 1})
	if k.run(10 * time.Second); a.count > 0 {
		t.Errorf("asked %d times about a death that gossip has not seen", a.count)
	}
	if k.Ended(simlnd.NID(2), time.Hour) {
		t.Error("a death that gossip has not seen is certain")
	}
	k.start(2, false)
	k.run(time.Minute)
	k.is(2, Vital{Alive: true, Deaths: 1})
	k.fabric.Kill(2)
	k.run(30 * time.Second)
	k.is(2, Vital{Deaths: 2})
	if !a.ended {
		t.Errorf("a death that gossip has seen is not certain after %d questions", a.count)
	}
	before := a.count
	if k.run(10 * time.Second); a.count > before {
		t.Errorf("asked %d times about a certain death", a.count-before)
	}
}
