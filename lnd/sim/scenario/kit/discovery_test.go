package kit_test

import (
	"slices"
	"testing"

	"ulnet/lnd/sim"
	"ulnet/lnd/sim/scenario/kit"
)

// TestHears: signs reach an observer directly or over nodes that speak, and only in directions that are not cut.
func TestHears(t *testing.T) {
	all := []bool{true, true, true, true}
	tests := []struct {
		name   string
		speaks []bool
		cut    func(*sim.Cuts)
		want   []bool
	}{
		{"no cut", all, func(*sim.Cuts) {}, all},
		{"over others", all, func(c *sim.Cuts) { c.Cut(sim.Nodes(3), sim.Nodes(0)) }, all},
		{"over none that speaks", []bool{true, false, false, true}, func(c *sim.Cuts) { c.Cut(sim.Nodes(3), sim.Nodes(0)) }, []bool{true, false, false, false}},
		{"only the other direction is cut", all, func(c *sim.Cuts) { c.Cut(sim.Nodes(0), sim.AllNodes) }, all},
		{"two sides", all, func(c *sim.Cuts) { c.Partition(4, []sim.NodeSet{sim.Nodes(0, 1), sim.Nodes(2, 3)}) }, []bool{true, true, false, false}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var cuts sim.Cuts
			tt.cut(&cuts)
			if got := kit.Hears(0, tt.speaks, &cuts); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
