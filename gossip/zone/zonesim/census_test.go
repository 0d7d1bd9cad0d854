package zonesim

import (
	"testing"
	"time"

	"ulnet/gossip/zone"
	"ulnet/gossip/zone/engine"
	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario"
)

// counter is a supervisor whose census has the given entries.
type counter struct {
	incarnation
	entries []engine.CensusEntry
}

func (c counter) census() []engine.CensusEntry { return c.entries }

// TestCensusOfGoneZone: a supervisor must not know a zone as current of which no member runs any more. If all members
// said goodbye, it must not know the zone at all; otherwise the zone becomes stale, and then lost
// (docs/membership.md).
func TestCensusOfGoneZone(t *testing.T) {
	const supervisor, first, last = 0, 3, 6
	leave := func(n *Net) {
		for id := range sim.NodeRange(first, last).All(n.Nodes()) {
			n.Command(id, "leave 0")
		}
	}
	kill := func(n *Net) {
		for id := range sim.NodeRange(first, last).All(n.Nodes()) {
			n.Kill(id)
		}
	}
	for _, row := range []struct {
		name  string
		ends  func(n *Net)
		after time.Duration
		state engine.CensusState
		right bool
	}{
		{"current just after the goodbyes", leave, time.Second, engine.Current, true},
		{"current after the goodbyes", leave, 5 * time.Second, engine.Current, false},
		{"lost after the goodbyes", leave, time.Minute, engine.Lost, false},
		{"stale after the goodbyes, because its supervisor died before", func(n *Net) { n.Kill(supervisor); leave(n) }, 10 * time.Second, engine.Stale, true},
		{"current after the goodbyes, although its supervisor died before", func(n *Net) { n.Kill(supervisor); leave(n) }, 10 * time.Second, engine.Current, false},
		{"current just after the deaths", kill, 5 * time.Second, engine.Current, true},
		{"current after the deaths", kill, 10 * time.Second, engine.Current, false},
		{"stale after the deaths", kill, 10 * time.Second, engine.Stale, true},
		{"stale for ever", kill, time.Minute, engine.Stale, false},
		{"lost", kill, time.Minute, engine.Lost, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			n, err := New(Config{Network: scenario.Network{Nodes: 7, Seed: 1}, Supervisors: 3, Zone: zone.Config{Heartbeat: time.Second}})
			if err != nil {
				t.Fatal(err)
			}
			n.runOn(t, 20*time.Second)
			entry, ok := n.entry(1, n.groups[1])
			if !ok || entry.State != engine.Current {
				t.Fatalf("before: %+v", entry)
			}
			row.ends(n)
			n.runOn(t, row.after)
			entry.State, entry.Supervisor = row.state, n.groups[0].self(supervisor)
			n.incarnations[1] = counter{n.incarnations[1], []engine.CensusEntry{entry}}
			if right, why := n.censusRight(sim.Nodes(1)); right != row.right {
				t.Errorf("the census is right: %v, %s", right, why)
			}
		})
	}
}
