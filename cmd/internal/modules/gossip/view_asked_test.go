package gossip

import (
	"testing"
	"time"

	"ulnet/gossip"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// asks checks what the view says of a node when it is asked. Listeners may not have been told of the node.
func (k *tracked) asks(i sim.NodeID, want Vital) {
	k.t.Helper()
	if alive, deaths := k.Alive(simlnd.NID(i)); (Vital{alive, deaths}) != want {
		k.t.Fatalf("after %v node %d is alive: %v, after %d deaths; want %+v", k.now, i, alive, deaths, want)
	}
}

// settle runs the nodes for the silence and the time in which a death is noticed, less a cycle. Node 1 does not die in that
// time, and the state of node 2 is the one that is wanted.
func (k *tracked) settle(want Vital) {
	k.t.Helper()
	k.run(time.Millisecond)
	limits := k.agents[0].Status().Limits
	for range limits.Stealth + limits.Dead - 1 {
		k.run(time.Second)
		k.asks(2, want)
		if told, known := k.told[simlnd.NID(1)]; known && told != (Vital{Alive: true}) {
			k.t.Fatalf("after %v listeners were told of node 1: %+v", k.now, told)
		}
	}
}

// relist changes the list of the nodes 0 and 1 to the nodes up to last. Node 0 makes the change by its view.
func (k *tracked) relist(last sim.NodeID) {
	k.t.Helper()
	var list []nid.NID
	for i := range last + 1 {
		list = append(list, simlnd.NID(i))
	}
	do := func(i sim.NodeID, f func(*gossip.Agent) error) {
		k.fabric.Do(i, func(*simlnd.Host) {
			if err := f(k.agents[i]); err != nil {
				k.t.Error(err)
			}
		})
	}
	for i := range sim.NodeID(2) {
		do(i, func(a *gossip.Agent) error { return a.Stage(list) })
	}
	k.run(5 * time.Second)
	do(0, func(a *gossip.Agent) error { return k.view.relist(a, a.CommitAnyway) })
	do(1, (*gossip.Agent).CommitAnyway)
}

// TestViewAskedBefore: collectives use the view before gossip starts for the first time: it says that all servers are alive,
// and so it does until the agent has heard them, or would have. Then listeners are told of the death of a server on which
// gossip does not start. Gossip starts there at last.
func TestViewAskedBefore(t *testing.T) {
	t.Parallel()
	for _, cold := range []bool{false, true} { // node 0 alone may have a cold start
		k := newTracked(t)
		k.asks(1, Vital{Alive: true})
		k.asks(2, Vital{Alive: true})
		k.start(0, cold)
		k.start(1, false)
		k.follow()
		k.settle(Vital{Alive: true})
		k.run(5 * time.Second)
		k.is(1, Vital{Alive: true})
		k.is(2, Vital{Deaths: 1})
		k.start(2, false)
		k.run(time.Minute)
		k.is(2, Vital{Alive: true, Deaths: 1})
	}
}

// TestViewAskedBeforeAllStart: collectives use the view before gossip starts on all servers at once. All are silent at first,
// and none counts as dead at any time.
func TestViewAskedBeforeAllStart(t *testing.T) {
	t.Parallel()
	k := newTracked(t)
	for i := range sim.NodeID(3) {
		k.asks(i, Vital{Alive: true})
	}
	for i := range k.agents {
		k.start(sim.NodeID(i), false)
		k.run(time.Second)
	}
	k.follow()
	k.settle(Vital{Alive: true})
	for range 60 {
		k.run(time.Second)
		for i := range sim.NodeID(3) {
			k.is(i, Vital{Alive: true})
		}
	}
}

// TestViewNeverAsked: collectives have not asked about a server before gossip starts, and it is never heard: the view says that it is
// not alive, and listeners are told nothing.
func TestViewNeverAsked(t *testing.T) {
	t.Parallel()
	k := newTracked(t)
	k.asks(1, Vital{Alive: true})
	k.start(0, false)
	k.start(1, false)
	k.follow()
	k.settle(Vital{})
	k.run(5 * time.Second)
	k.asks(2, Vital{})
	if told, known := k.told[simlnd.NID(2)]; known {
		t.Errorf("listeners were told %+v", told)
	}
}

// TestViewAskedUnlisted: GO-A21: the view says that a server is alive which is not on gossip's list. The server is put on
// the list: it still counts as alive until the agent has heard it, or would have. Listeners are told of its death if gossip
// does not start there, and of no death if it starts with the change of the list and is silent at first.
func TestViewAskedUnlisted(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "GO-A21")
	for _, starts := range []bool{false, true} {
		k := newTracked(t)
		for i := range sim.NodeID(2) {
			k.start(i, true, simlnd.NID(0), simlnd.NID(1))
		}
		k.follow()
		k.run(5 * time.Second)
		k.asks(2, Vital{Alive: true})
		k.relist(2)
		if starts {
			k.start(2, false)
		}
		k.settle(Vital{Alive: true})
		if k.run(5 * time.Second); starts {
			k.is(2, Vital{Alive: true})
			continue
		}
		k.is(2, Vital{Deaths: 1})
		k.start(2, false)
		k.run(time.Minute)
		k.is(2, Vital{Alive: true, Deaths: 1})
	}
}

// TestViewListedAgain: GO-A21: a server that was alive is taken off gossip's list, which counts as a death. Collectives try
// it again, and it is put on the list, but gossip has ended there. That is one more death, when the agent would have heard it.
// If gossip stops here before, the server has not died once more.
func TestViewListedAgain(t *testing.T) {
	t.Parallel()
	spec.Covers(t, "GO-A21")
	for _, stops := range []bool{false, true} {
		k := viewed(t)
		deaths := 0
		k.Watch(func(id nid.NID, alive bool, _ uint64) {
			if id == simlnd.NID(2) && !alive {
				deaths++
			}
		})
		k.relist(1)
		k.stop(2)
		k.run(30 * time.Second) // until the change is over
		if told := k.told[simlnd.NID(2)]; told != (Vital{Deaths: 1}) {
			t.Fatalf("after its removal: %+v", told)
		}
		k.asks(2, Vital{Alive: true, Deaths: 1})
		if k.relist(2); stops {
			k.run(time.Second)
			k.detach()
			if k.is(1, Vital{Alive: true}); deaths != 1 {
				t.Errorf("listeners were told of %d deaths", deaths)
			}
			continue
		}
		k.settle(Vital{Alive: true, Deaths: 1})
		k.run(5 * time.Second)
		k.is(2, Vital{Deaths: 2})
	}
}

// TestViewAskedStops: the view says that a server is alive which was taken off gossip's list, and listeners hold for dead. When
// gossip stops, listeners are told that all servers count as alive, this one too. If gossip starts again with it on the list,
// it has not died once more until the agent would have heard it.
func TestViewAskedStops(t *testing.T) {
	t.Parallel()
	k := viewed(t)
	k.relist(1)
	k.stop(2)
	k.run(30 * time.Second) // until the change is over
	k.asks(2, Vital{Alive: true, Deaths: 1})
	if told := k.told[simlnd.NID(2)]; told != (Vital{Deaths: 1}) {
		t.Fatalf("listeners were told %+v", told)
	}
	k.detach()
	k.is(2, Vital{Alive: true, Deaths: 1})
}

// TestViewAskedTooMany: the view is asked about more servers than it keeps: it says the same of all.
func TestViewAskedTooMany(t *testing.T) {
	t.Parallel()
	v, net := newView(machine.RealClock()), nid.MakeNet(nid.TCP, 0)
	for i := range uint32(maxPresumed + 10) {
		if alive, _ := v.Alive(nid.FromNumber(net, i+1)); !alive {
			t.Fatal("not alive")
		}
	}
	if n := len(v.told); n != maxPresumed {
		t.Errorf("%d servers are kept", n)
	}
}
