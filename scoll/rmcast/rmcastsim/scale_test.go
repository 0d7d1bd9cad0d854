package rmcastsim_test

import (
	"fmt"
	"math"
	"math/bits"
	"os"
	"testing"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
	"ulnet/scoll/rmcast"
	"ulnet/scoll/rmcast/engine"
	"ulnet/scoll/rmcast/rmcastsim"
	"ulnet/scoll/rmcast/wire"
)

const (
	latency = 500 * time.Microsecond // latency of each link
	work    = 2 * time.Microsecond   // time that a node spends on each message
)

func flat() *sim.Flat { return &sim.Flat{Link: link.Quality{Latency: link.Dist{Base: latency}}} }

// small makes managers use small windows and fragments, so that large groups take little memory.
var small = engine.ManagerConfig{Window: 2, Fragment: 64}

// formed makes a group of n nodes.
func formed(t *testing.T, cfg rmcastsim.Config) *rmcastsim.Net {
	t.Helper()
	if cfg.Topology == nil {
		cfg.Topology = flat()
	}
	n, err := rmcastsim.New(cfg)
	if err == nil {
		err = n.Form()
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// counts are numbers of messages since the last reset.
type counts struct {
	casts    map[string]int // number of nodes that received each datagram
	acks     int
	rootAcks int
	repairs  int
	origin   sim.NodeID
}

// tap counts a message.
func (c *counts) tap(_, to sim.NodeID, kind rmcastsim.Kind, b []byte) {
	switch kind {
	case rmcastsim.Cast:
		if d, _, err := wire.ParseDatagram(b); err == nil && d.Count > 0 {
			c.casts[fmt.Sprint(d.Origin, d.Seq)]++
		}
	case rmcastsim.Repair:
		c.repairs++
	case rmcastsim.Control:
		_, _, entries, _ := wire.ParseControl(b)
		for len(entries) > 0 {
			e, rest, err := wire.ParseEntry(entries)
			if err != nil {
				return
			}
			entries = rest
			if e.Kind != wire.Ack {
				continue
			}
			c.acks++
			if to == c.origin {
				c.rootAcks++
			}
		}
	}
}

// sizes returns the sizes of groups to test, up to a bound.
func sizes() []int {
	switch {
	case os.Getenv("ULNET_LONG") != "":
		return []int{1, 2, 3, 5, 8, 13, 16, 31, 64, 100, 256, 512, 700, 1000, 1023, 1024}
	case testing.Short(), effort.Race:
		return []int{1, 2, 3, 8, 13, 64, 100}
	}
	return []int{1, 2, 3, 8, 13, 64, 100, 256}
}

// TestSingleSend: RM-1, RM-4, RM-6, G-RM-2, G-RM-4: a message takes one datagram to each other
// member and one acknowledgement from each. The number of acknowledgements that reach the
// origin itself is at most the logarithm of the number of members. The time from the last
// delivery to the release is the time of an acknowledgement up the tree.
func TestSingleSend(t *testing.T) {
	spec.Covers(t, "RM-1", "RM-4", "RM-6", "G-RM-2", "G-RM-4")
	for _, nodes := range sizes() {
		c := &counts{}
		n := formed(t, rmcastsim.Config{
			Network: scenario.Network{Nodes: nodes, CPU: sim.CPU{PerStep: work}}, Bare: true, Manager: small, Tap: c.tap,
			Rmcast: rmcast.GroupConfig{Guard: time.Second, ReportInterval: time.Hour},
		})
		for _, origin := range []sim.NodeID{0, sim.NodeID(nodes / 3), sim.NodeID(nodes - 1)} {
			*c = counts{casts: map[string]int{}, origin: origin}
			m, err := n.Send(origin, 32)
			if err != nil {
				t.Fatalf("%d nodes: %v", nodes, err)
			}
			if err := n.Quiet(); err != nil {
				t.Fatal(err)
			}
			if len(c.casts) != min(nodes-1, 1) || c.acks != nodes-1 || c.rootAcks > bits.Len(uint(nodes-1)) || c.repairs > 0 {
				t.Errorf("%d nodes, origin %v: %+v", nodes, origin, c)
			}
			for _, receivers := range c.casts {
				if receivers != nodes-1 {
					t.Errorf("%d nodes: the datagram goes to %d", nodes, receivers)
				}
			}
			climb, want := m.Done-m.Last, time.Duration(depth(nodes))*(latency+work)
			if nodes > 1 && math.Abs(float64(climb-want)) > 0.05*float64(m.Elapsed()) {
				t.Errorf("%d nodes, origin %v: released %v after the last delivery, want %v: %v in all", nodes, origin, climb, want, m.Elapsed())
			}
		}
	}
}

// depth is the depth of the tree: the largest number of one bits in a rank.
func depth(nodes int) (most int) {
	for rank := range nodes {
		most = max(most, bits.OnesCount(uint(rank)))
	}
	return most
}
