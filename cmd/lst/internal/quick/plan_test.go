package quick

import (
	"math/rand/v2"
	"testing"

	"ulnet/lnet/nid"
)

// TestPlan: whatever the sides have in common, each pair of two nodes is in one round, no two
// pairs of a round share a node, not even under two of its NIDs, and there are at most twice as many rounds as the longer side has nodes, or
// four times as many if each node has two NIDs.
func TestPlan(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 1))
		sides := [2][]nid.ProcessID{}
		for s := range sides {
			for _, n := range random.Perm(80)[:1+random.IntN(MaxNodes)] {
				sides[s] = append(sides[s], hosts(n+1)...)
			}
		}
		from, to := sides[0], sides[1]
		node := func(id nid.ProcessID) nid.NID { return id.NID }
		if seed%2 == 1 { // each node has two NIDs, of which this is the first
			node = func(id nid.ProcessID) nid.NID { return hosts((int(id.NID.Addr().As4()[3])-1)/2*2 + 1)[0].NID }
		}
		rounds, err := plan(from, to, node)
		if err != nil {
			if len(from) > 2 || len(to) > 2 || node(from[0]) != node(to[0]) {
				t.Fatalf("seed %d: %v", seed, err)
			}
			continue
		}
		if most := 2 * int(1+seed%2) * max(len(from), len(to)); len(rounds) > most {
			t.Errorf("seed %d: %d rounds, want at most %d", seed, len(rounds), most)
		}
		pairs := map[pair]bool{}
		for _, round := range rounds {
			seen := map[nid.NID]bool{}
			for _, p := range round {
				a, b := from[p.from], to[p.to]
				if pairs[p] || seen[node(a)] || seen[node(b)] || node(a) == node(b) {
					t.Fatalf("seed %d: pair %v again, or a node of it", seed, p)
				}
				pairs[p], seen[node(a)], seen[node(b)] = true, true, true
			}
		}
		for i, a := range from {
			for j, b := range to {
				if pairs[pair{i, j}] != (node(a) != node(b)) {
					t.Fatalf("seed %d: from %v to %v: %v", seed, a, b, pairs[pair{i, j}])
				}
			}
		}
	}
}

// TestPlanShort: sides without a node in common need as many rounds as the longer one has nodes.
func TestPlanShort(t *testing.T) {
	for _, test := range []struct{ from, to, want int }{{1, 1, 1}, {1, 3, 3}, {3, 1, 3}, {4, 4, 4}, {2, 5, 5}, {64, 64, 64}} {
		var from, to []nid.ProcessID
		for i := range test.from {
			from = append(from, hosts(i+1)...)
		}
		for i := range test.to {
			to = append(to, hosts(i+101)...)
		}
		if rounds, err := plan(from, to, own); err != nil || len(rounds) != test.want {
			t.Errorf("%+v: %d rounds, %v", test, len(rounds), err)
		}
	}
}

// TestPlanRefuses: plan refuses too many nodes, a node that is named twice, and sides without any pair.
func TestPlanRefuses(t *testing.T) {
	many := make([]int, MaxNodes+1)
	for i := range many {
		many[i] = i + 1
	}
	for name, sides := range map[string][2][]nid.ProcessID{
		"many": {hosts(many...), hosts(100)}, "twice": {hosts(1), hosts(2, 2)}, "itself": {hosts(1), hosts(1)}, "none": {hosts(1), nil},
	} {
		if rounds, err := plan(sides[0], sides[1], own); err == nil {
			t.Errorf("%s: %v", name, rounds)
		}
	}
}
