package gossipsim_test

import (
	"math/bits"
	"testing"
	"time"

	"ulnet/gossip"
	"ulnet/gossip/engine"
	"ulnet/gossip/gossipsim"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/lnd/simlnd"
)

func newNet(t *testing.T, cfg gossipsim.Config) *gossipsim.Net {
	t.Helper()
	if cfg.Gossip.Interval == 0 {
		cfg.Gossip.Interval = gossipsim.Interval
	}
	if cfg.Topology == nil {
		cfg.Topology = gossipsim.Flat(0.01)
	}
	n, err := gossipsim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func runNet(t *testing.T, n *gossipsim.Net, until time.Duration) {
	t.Helper()
	if err := n.Run(until); err != nil {
		t.Fatal(err)
	}
}

// TestSilence (GO-70, GO-71, GO-76, GO-A19): a node that has just started receives messages and
// sends none. Its silence is just long enough for all others to detect its death, and grows
// with the logarithm of their number. Each of them reports the death before the return.
func TestSilence(t *testing.T) {
	spec.Covers(t, "GO-70", "GO-71", "GO-76", "GO-A19")
	sweeps(t)
	for _, nodes := range []int{8, 64, 1000} {
		var net *gossipsim.Net
		var spoke, lastDeath, firstReturn time.Duration
		told := 0
		net = newNet(t, gossipsim.Config{
			Network: scenario.Network{Nodes: nodes, Seed: uint64(nodes)}, Gossip: gossip.Config{ColdStart: true}, Columns: min(nodes, 64),
			Tell: func(at time.Duration, node sim.NodeID, e *engine.Event) {
				id, _ := simlnd.Node(e.NID)
				switch {
				case e.Kind == engine.SpeaksUp:
					s := net.Machine(node).Stats()
					if spoke = at; s.PingsSent+s.RepliesSent > 1 { // the counters include the messages of this step
						t.Errorf("%d nodes: a silent node has sent %d pings and %d replies", nodes, s.PingsSent, s.RepliesSent)
					}
					if net.Clock(node)+40 < net.Clock(1) {
						t.Errorf("%d nodes: its clock is %d, another's %d", nodes, net.Clock(node), net.Clock(1))
					}
				case at < 10*time.Second || id != 0 || node == 0:
				case e.Kind == engine.Died:
					lastDeath = at
					told++
				case e.Kind == engine.CameAlive && spoke > 0 && firstReturn == 0:
					firstReturn = at
				}
			},
		})
		runNet(t, net, 10*time.Second)
		net.Kill(0)
		runNet(t, net, 10*time.Second+300*time.Millisecond)
		net.Start(0, false)
		runNet(t, net, 30*time.Second)
		up := bits.Len(uint(nodes - 1))
		cycles := int((spoke - 10*time.Second) / gossipsim.Interval)
		if limit := net.Limits().Dead; cycles <= limit || cycles > limit+up+7 || told < nodes-1 {
			t.Errorf("%d nodes: spoke %d cycles after the end of its first life, want %d to %d; %d were told of its death", nodes, cycles, limit+1, limit+up+7, told)
		}
		if lastDeath > spoke || firstReturn < spoke {
			t.Errorf("%d nodes: dead to the last at %v, spoke at %v, alive to the first at %v", nodes, lastDeath, spoke, firstReturn)
		}
	}
}

// TestWholeClusterBoots (GO-A19): if all nodes are silent, a timer ends the silence. The first
// ping comes within a cycle after that.
func TestWholeClusterBoots(t *testing.T) {
	spec.Covers(t, "GO-A19")
	for _, nodes := range []int{8, 100} {
		net := newNet(t, gossipsim.Config{Network: scenario.Network{Nodes: nodes, Seed: 1}})
		silence := net.Cycles(net.Limits().Stealth)
		runNet(t, net, silence)
		if s := net.Counters(); s.PingsSent > 0 {
			t.Errorf("%d nodes: %d pings before the silence is over", nodes, s.PingsSent)
		}
		runNet(t, net, silence+net.Cycles(1))
		if s := net.Counters(); s.PingsSent-s.SecondPings != uint64(nodes) {
			t.Errorf("%d nodes: %d pings a cycle after the silence, %d of them second ones", nodes, s.PingsSent, s.SecondPings)
		}
		runNet(t, net, silence+net.Cycles(20))
		if ok, why := net.AliveExactly(nodes, sim.AllNodes); !ok {
			t.Error(why)
		}
	}
}

// TestLongDead (GO-72): a node that was dead for a long time sends soon after its restart,
// because the first ping that it gets shows that others consider it dead.
func TestLongDead(t *testing.T) {
	spec.Covers(t, "GO-72")
	net := newNet(t, gossipsim.Config{Network: scenario.Network{Nodes: 64, Seed: 1}, Gossip: gossip.Config{ColdStart: true}})
	runNet(t, net, 5*time.Second)
	net.Crash(7)
	runNet(t, net, 30*time.Second)
	net.Start(7, false)
	runNet(t, net, 33*time.Second)
	if ok, why := net.Think(sim.AllNodes, sim.Nodes(7), true); !ok {
		t.Error(why)
	}
}

// TestNewcomerIsHeard (GO-33): a node that starts without silence becomes known to another node
// by its second ping. The first ping is obsolete, and the empty answer to it brings the clock.
func TestNewcomerIsHeard(t *testing.T) {
	spec.Covers(t, "GO-33")
	const newcomer = 20
	for seed := range uint64(50) {
		net := newNet(t, gossipsim.Config{
			Network: scenario.Network{Nodes: 40, Seed: seed, Topology: gossipsim.Flat(0), StartAt: func(id sim.NodeID) time.Duration {
				if id == newcomer {
					return 20 * time.Second
				}
				return 0
			}}, Gossip: gossip.Config{ColdStart: true},
		})
		runNet(t, net, 20*time.Second+2*gossipsim.Interval+5*time.Millisecond)
		known := false
		for other := range sim.NodeID(40) {
			believes, _ := net.Think(sim.Nodes(other), sim.Nodes(newcomer), true)
			known = known || other != newcomer && believes
		}
		if !known {
			t.Errorf("seed %d: nobody knows the newcomer after its second ping", seed)
		}
	}
}

// TestDeadInTheLottery (GO-39): a dead node is pinged as often as others.
func TestDeadInTheLottery(t *testing.T) {
	spec.Covers(t, "GO-39")
	sweeps(t)
	const nodes = 20
	net := newNet(t, gossipsim.Config{Network: scenario.Network{Nodes: nodes, Seed: 1, Topology: gossipsim.Flat(0)}, Gossip: gossip.Config{ColdStart: true}})
	runNet(t, net, time.Minute)
	net.Crash(3)
	runNet(t, net, 2*time.Minute)
	first := func() uint64 { c := net.Counters(); return c.PingsSent - c.SecondPings }
	before, pings := net.Control.Stats().Refused, first()
	runNet(t, net, 22*time.Minute)
	got := float64(net.Control.Stats().Refused - before)
	want := float64(first()-pings) / (nodes - 1)
	if got < 0.95*want || got > 1.05*want {
		t.Errorf("the dead one got %.0f pings, want %.0f", got, want)
	}
}
