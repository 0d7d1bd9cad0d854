package gossip

import (
	"errors"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/nid"
	"ulnet/portals/node"
	"ulnet/scoll"
)

// gather starts collectives at node 0 with its view, and returns a group of all three nodes.
func (k *tracked) gather() (g *scoll.Group) {
	k.t.Helper()
	targets := make([]scoll.Target, len(k.agents))
	for i := range targets {
		targets[i] = scoll.Target{NID: simlnd.NID(sim.NodeID(i)), Entities: []scoll.Entity{{1}}}
	}
	members, err := scoll.NewMembership(targets)
	k.fabric.Do(0, func(h *simlnd.Host) {
		agent, failed := scoll.New(h.Data.(*node.Node).Table(), scoll.Config{View: k.view})
		if err = errors.Join(err, failed); err != nil {
			return
		}
		none := func(*scoll.Request) error { return nil }
		err = agent.RegisterService(scoll.Service{
			ID: 9, PreRequest: none, IncomingRequest: none, PostReply: func(*scoll.Request) {},
			MapGroup: func(scoll.OOBID) (*scoll.Membership, error) { return members, nil },
		})
		if err == nil {
			g, err = agent.OOBGroup(9, "all", scoll.OOBID{}, scoll.Tree{}, nil)
		}
	})
	if k.run(time.Millisecond); err != nil {
		k.t.Fatal(err)
	}
	return g
}

// dead returns which members keep a broadcast to all members of a group from being sent, because they are dead.
func (k *tracked) dead(g *scoll.Group) (ids []nid.NID) {
	k.t.Helper()
	k.fabric.Do(0, func(*simlnd.Host) {
		_, err := g.NewRequest(scoll.RequestConfig{})
		if e, ours := errors.AsType[*scoll.Error](err); ours {
			ids = e.Dead
		} else if err != nil {
			k.t.Error(err)
		}
	})
	k.run(time.Millisecond)
	return ids
}

// TestCollectiveAskedBefore: SC-97: collectives have tried a server before gossip starts, or before the server is on the list
// of gossip. Once gossip would have heard it, it counts as dead for collectives here as well as at other nodes, which have not
// tried it: otherwise these would refuse broadcasts to the live members for ever.
func TestCollectiveAskedBefore(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "SC-97")
	for _, listed := range []bool{false, true} {
		k := newTracked(t)
		if listed {
			for i := range sim.NodeID(2) {
				k.start(i, true, simlnd.NID(0), simlnd.NID(1))
			}
			k.follow()
			k.run(5 * time.Second)
		}
		g := k.gather()
		if ids := k.dead(g); len(ids) > 0 {
			t.Fatalf("listed %v: %v are dead before", listed, ids)
		}
		if listed {
			k.relist(2)
		} else {
			k.start(0, false)
			k.start(1, false)
			k.follow()
		}
		k.settle(Vital{Alive: true})
		if ids := k.dead(g); len(ids) > 0 {
			t.Errorf("listed %v: %v are dead while gossip settles", listed, ids)
		}
		k.run(5 * time.Second)
		if ids := k.dead(g); !slices.Equal(ids, []nid.NID{simlnd.NID(2)}) {
			t.Errorf("listed %v: %v are dead", listed, ids)
		}
	}
}
