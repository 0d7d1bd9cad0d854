package gossip

import (
	"testing"
	"time"

	"ulnet/lnd/sim"
	"ulnet/lnd/simlnd"
	"ulnet/lnet/machine"
	"ulnet/lnet/nid"
)

// follow makes the agent of the first node the source of the view.
func (k *tracked) follow() {
	k.fabric.Do(0, func(*simlnd.Host) { k.attach(k.agents[0]) })
}

// viewed are three nodes, all alive to the view of the first one.
func viewed(t *testing.T) *tracked {
	t.Helper()
	k := newTracked(t)
	for i := range k.agents {
		k.start(sim.NodeID(i), true)
	}
	k.run(time.Second)
	k.follow()
	k.run(9 * time.Second)
	return k
}

// is checks what the view says of a node, and what its listeners were told last.
func (k *tracked) is(i sim.NodeID, want Vital) {
	k.t.Helper()
	alive, deaths := k.Alive(simlnd.NID(i))
	if got, told := (Vital{alive, deaths}), k.told[simlnd.NID(i)]; got != want || told != want {
		k.t.Fatalf("after %v node %d is %+v, and listeners were told %+v, want %+v", k.now, i, got, told, want)
	}
}

// TestViewAllAnew: gossip is stopped and started on all servers, and all are silent at first. Those that counted as alive
// still do, so that collectives go on. A server where gossip does not start again has died when the agent would have
// heard it, and listeners are told so. Gossip starts there at last: then they are told that it is alive.
func TestViewAllAnew(t *testing.T) {
	t.Parallel()
	k := viewed(t)
	k.detach()
	for i := range k.agents {
		k.stop(sim.NodeID(i))
	}
	k.start(0, false)
	k.start(1, false)
	k.run(time.Second)
	k.follow()
	limits := k.agents[0].Status().Limits
	for range limits.Stealth + limits.Dead - 1 {
		k.run(time.Second)
		for i := range k.agents {
			k.is(sim.NodeID(i), Vital{Alive: true})
		}
	}
	k.run(5 * time.Second)
	k.is(0, Vital{Alive: true})
	k.is(1, Vital{Alive: true})
	k.is(2, Vital{Deaths: 1})
	k.start(2, false)
	k.run(time.Minute)
	k.is(2, Vital{Alive: true, Deaths: 1})
}

// TestViewOneAnew: gossip is stopped and started on one server only, while another one is dead. It counts as alive while
// gossip is stopped. It is dead again soon after the silence of the first one, which the others end early.
func TestViewOneAnew(t *testing.T) {
	t.Parallel()
	k := viewed(t)
	k.fabric.Kill(2)
	k.run(30 * time.Second)
	k.is(2, Vital{Deaths: 1})
	k.detach()
	k.stop(0)
	k.run(30 * time.Second)
	k.is(2, Vital{Alive: true, Deaths: 1})
	k.start(0, false)
	k.follow()
	k.run(time.Duration(k.agents[0].Status().Limits.Stealth) * time.Second)
	k.is(1, Vital{Alive: true})
	k.is(2, Vital{Deaths: 2})
}

// TestViewStops: gossip is stopped and started on a server with another list than on the others, and gives up. All other
// servers have died then, also those that it has not heard.
func TestViewStops(t *testing.T) {
	t.Parallel()
	k := viewed(t)
	k.detach()
	for i := range k.agents {
		k.stop(sim.NodeID(i))
	}
	for i := sim.NodeID(1); i < 3; i++ {
		k.start(i, true, simlnd.NID(0), simlnd.NID(1), simlnd.NID(2), simlnd.NID(3))
	}
	k.start(0, false)
	k.follow()
	k.run(time.Millisecond)
	k.is(1, Vital{Alive: true})
	k.run(time.Duration(k.agents[0].Status().Limits.Dead) * time.Second)
	if !k.agents[0].Status().Stopped {
		t.Fatal("gossip has not given up")
	}
	k.is(1, Vital{Deaths: 1})
	k.is(2, Vital{Deaths: 1})
}

// TestViewSettlesAtDeath: settling ends when the agent has seen a server die and has not reported it yet. This is one
// death, and not two.
func TestViewSettlesAtDeath(t *testing.T) {
	t.Parallel()
	k := viewed(t)
	k.detach()
	for i := range k.agents {
		k.stop(sim.NodeID(i))
	}
	k.start(0, false)
	k.start(2, true)
	k.run(time.Millisecond)
	early := false
	k.agents[0].Watch(func(id nid.NID, alive bool, _ uint64) {
		if !alive && id == simlnd.NID(2) { // the view hears of it after this
			early = k.IsSettling() && k.told[id].Alive
			k.conclude(k.agents[0], true)
		}
	})
	k.follow()
	k.run(3 * time.Second)
	k.fabric.Kill(2)
	k.run(30 * time.Second)
	k.is(1, Vital{Deaths: 1})
	if k.is(2, Vital{Deaths: 1}); !early {
		t.Error("settling has ended before")
	}
}

// pending counts the timers that a clock has to call.
type pending struct {
	machine.Clock
	count int
}

func (p *pending) AfterFunc(d time.Duration, f func()) machine.Timer {
	p.count++
	return &pendingTimer{p.Clock.AfterFunc(d, func() { p.count--; f() }), p}
}

type pendingTimer struct {
	machine.Timer
	of *pending
}

func (t *pendingTimer) Stop() bool {
	stopped := t.Timer.Stop()
	if stopped {
		t.of.count--
	}
	return stopped
}

// TestViewTimer: the view has a timer only while it settles, and none when gossip has stopped.
func TestViewTimer(t *testing.T) {
	t.Parallel()
	k := viewed(t)
	clock := &pending{Clock: k.clock}
	k.clock = clock
	k.detach()
	k.follow()
	if k.run(time.Second); clock.count > 0 {
		t.Errorf("%d timers when all servers are heard", clock.count)
	}
	k.detach()
	k.stop(0)
	k.start(0, false)
	k.follow()
	if k.run(time.Millisecond); clock.count != 1 {
		t.Errorf("%d timers while the view settles", clock.count)
	}
	if k.detach(); clock.count > 0 {
		t.Errorf("%d timers when gossip has stopped", clock.count)
	}
}

// TestViewOtherList: gossip is stopped, and started with a list without one of the servers. Collectives still try that
// one, because gossip does not know whether it is alive.
func TestViewOtherList(t *testing.T) {
	t.Parallel()
	k := viewed(t)
	k.detach()
	for i := range k.agents {
		k.stop(sim.NodeID(i))
	}
	for i := range sim.NodeID(2) {
		k.start(i, false, simlnd.NID(0), simlnd.NID(1))
	}
	k.follow()
	k.run(2 * time.Minute)
	k.is(1, Vital{Alive: true})
	k.is(2, Vital{Alive: true})
}
