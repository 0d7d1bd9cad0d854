package gossip

import (
	"testing"
	"time"

	"ulnet/gossip"
	"ulnet/lnd"
	"ulnet/lnd/lo"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet"
	"ulnet/lnet/discovery"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// TestTrackerLastNews: gossip stops before it has told its listeners that a node has come alive. They are told
// nevertheless, so that a death of the node while gossip is stopped counts as one.
func TestTrackerLastNews(t *testing.T) {
	t.Parallel()
	first, second := simlnd.NID(sim.NodeID(0)), simlnd.NID(sim.NodeID(1))
	agent := func(h *simlnd.Host) *gossip.Agent {
		a, err := gossip.New(h.Data.(*portals.Table), gossip.Config{Participants: []nid.NID{first, second}, Interval: time.Second, ColdStart: true})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	boot := func(h, _ *simlnd.Host) {
		node := lnet.New(lnet.Config{Incarnation: h.LNetIncarnation(), Clock: h.Clock()})
		table := portals.New(node)
		h.Data = table
		if _, err := node.AddNI(lo.Driver{}, lnd.Config{Net: nid.Lo0().Net()}); err != nil {
			t.Fatal(err)
		}
		if _, err := discovery.NewTarget(table); err != nil {
			t.Fatal(err)
		}
		if _, err := node.AddNI(h.Driver(), lnd.Config{Net: simlnd.Net}); err != nil {
			t.Fatal(err)
		}
	}
	fabric, err := simlnd.New(simlnd.Config{Nodes: 2, Boot: boot})
	if err != nil {
		t.Fatal(err)
	}
	told := map[nid.NID]Vital{}
	var v Tracker
	v.Watch(func(id nid.NID, alive bool, deaths uint64) { told[id] = Vital{alive, deaths} })
	var a *gossip.Agent
	fabric.At(time.Second, func() {
		fabric.Do(1, func(h *simlnd.Host) { agent(h) })
		fabric.Do(0, func(h *simlnd.Host) { a = agent(h) })
	})
	fabric.At(10*time.Second, func() {
		fabric.Do(0, func(h *simlnd.Host) {
			if alive, _ := a.Alive(second); !alive {
				t.Fatal("gossip has not heard the other node")
			}
			v.Attach(a) // the reports come later, by timers
			v.Detach()
			if err := a.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			v.Attach(agent(h))
			v.Detach() // this agent has not heard the other node yet, which is no news
		})
	})
	if err := fabric.Run(12 * time.Second); err != nil {
		t.Fatal(err)
	}
	if told[first] != (Vital{Alive: true}) || told[second] != (Vital{Alive: true}) {
		t.Errorf("listeners were told %v", told)
	}
}
