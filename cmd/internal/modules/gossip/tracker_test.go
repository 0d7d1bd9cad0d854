package gossip

import (
	"testing"
	"time"

	"ulnet/gossip"
	"ulnet/lnd"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/portals/node"
)

// tracked are three nodes in virtual time. A view follows the agents of the first one.
type tracked struct {
	t      *testing.T
	fabric *simlnd.Fabric
	now    time.Duration
	agents [3]*gossip.Agent
	*view
	told map[nid.NID]Vital
}

func newTracked(t *testing.T) *tracked {
	t.Helper()
	k := &tracked{t: t, told: make(map[nid.NID]Vital)}
	boot := func(h, _ *simlnd.Host) {
		n, err := node.Start(node.Config{
			Networks: simlnd.Net.String(), Clock: h.Clock(), Drivers: []lnd.Driver{h.Driver()}, LNet: lnet.Config{Incarnation: h.LNetIncarnation()},
		})
		if err != nil {
			t.Fatal(err)
		}
		h.Data = n
	}
	var err error
	if k.fabric, err = simlnd.New(simlnd.Config{Nodes: len(k.agents), Boot: boot}); err != nil {
		t.Fatal(err)
	}
	k.run(time.Second)
	k.view = newView(k.fabric.Host(0).Clock())
	k.Watch(func(id nid.NID, alive bool, deaths uint64) { k.told[id] = Vital{alive, deaths} })
	return k
}

// run runs the nodes for some time.
func (k *tracked) run(d time.Duration) {
	k.t.Helper()
	k.now += d
	if err := k.fabric.Run(k.now); err != nil {
		k.t.Fatal(err)
	}
}

// start starts gossip at a node, with all three nodes or with those of the list.
func (k *tracked) start(i sim.NodeID, cold bool, list ...nid.NID) {
	if list == nil {
		list = []nid.NID{simlnd.NID(0), simlnd.NID(1), simlnd.NID(2)}
	}
	k.fabric.Do(i, func(h *simlnd.Host) {
		var err error
		k.agents[i], err = gossip.New(h.Data.(*node.Node).Table(), gossip.Config{Participants: list, Interval: time.Second, ColdStart: cold})
		if err != nil {
			k.t.Error(err)
		}
	})
}

// stop stops gossip at a node.
func (k *tracked) stop(i sim.NodeID) {
	k.fabric.Do(i, func(*simlnd.Host) {
		if err := k.agents[i].Close(k.t.Context()); err != nil {
			k.t.Error(err)
		}
	})
}

// TestTrackerLastNews: gossip stops before it has told its listeners that other nodes have come alive. They are told
// nevertheless, so that a death of such a node while gossip is stopped counts as one.
func TestTrackerLastNews(t *testing.T) {
	t.Parallel()
	k := newTracked(t)
	for i := range k.agents {
		k.start(sim.NodeID(i), true)
	}
	k.run(10 * time.Second)
	k.fabric.Do(0, func(*simlnd.Host) {
		k.Attach(k.agents[0]) // the agent reports later, by timers
		k.Detach()
	})
	k.run(time.Second)
	for i := range k.agents {
		if told := k.told[simlnd.NID(sim.NodeID(i))]; told != (Vital{Alive: true}) {
			t.Errorf("node %d: %+v", i, told)
		}
	}
}

// TestTrackerOldNews: an agent that has begun anew has heard of a node only what is too old to be alive. When it stops,
// listeners keep the state of before: no agent has seen the node die.
func TestTrackerOldNews(t *testing.T) {
	t.Parallel()
	k := newTracked(t)
	for i := range k.agents {
		k.start(sim.NodeID(i), true)
	}
	k.run(time.Second)
	k.fabric.Do(0, func(*simlnd.Host) { k.Attach(k.agents[0]) })
	k.run(9 * time.Second)
	k.Detach()
	k.stop(0)
	k.stop(2)
	k.run(25 * time.Second)
	k.start(0, true)
	k.run(time.Second)
	k.fabric.Do(0, func(*simlnd.Host) { k.Attach(k.agents[0]) })
	k.run(3 * time.Second)
	third := simlnd.NID(2)
	if p := k.agents[0].Status().Participants[2]; p.NID != third || p.Health != gossip.Dead || p.Aliveness != 0 {
		t.Fatalf("the third is %+v", p)
	}
	k.Detach()
	if told := k.told[third]; told != (Vital{Alive: true}) {
		t.Errorf("%+v", told)
	}
}
