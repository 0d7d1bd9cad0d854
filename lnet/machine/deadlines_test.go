package machine

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestDeadlines compares Deadlines with a list that is sorted each time.
func TestDeadlines(t *testing.T) {
	type set struct {
		at   time.Duration
		turn int
	}
	rapid.Check(t, func(t *rapid.T) {
		var s Deadlines[int]
		all := make([]Deadline[int], 8)
		for i := range all {
			all[i].Of = i
		}
		want, turn := map[int]set{}, 0
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				i := rapid.IntRange(0, len(all)-1).Draw(t, "i")
				at := time.Duration(rapid.IntRange(0, 4).Draw(t, "at"))
				s.Set(&all[i], at)
				turn++
				want[i] = set{at, turn}
			},
			"clear": func(t *rapid.T) {
				i := rapid.IntRange(0, len(all)-1).Draw(t, "i")
				_, there := want[i]
				if got := s.Clear(&all[i]); got != there {
					t.Fatalf("Clear: %v, want %v", got, there)
				}
				delete(want, i)
			},
			"pop": func(t *rapid.T) {
				until := time.Duration(rapid.IntRange(0, 4).Draw(t, "until"))
				first := s.First()
				d := s.Pop(until)
				if first == nil || first.At() > until {
					first = nil
				} else {
					delete(want, first.Of)
				}
				if d != first {
					t.Fatalf("Pop(%v): %v, want %v", until, d, first)
				}
			},
			"": func(t *rapid.T) {
				next, first := Never, -1
				order := make([]int, 0, len(want))
				for i := range want {
					order = append(order, i)
				}
				slices.SortFunc(order, func(a, b int) int {
					return cmp.Or(cmp.Compare(want[a].at, want[b].at), cmp.Compare(want[a].turn, want[b].turn))
				})
				if len(order) > 0 {
					first, next = order[0], want[order[0]].at
				}
				got := -1
				if d := s.First(); d != nil {
					got = d.Of
				}
				if got != first || s.Next() != next {
					t.Fatalf("%d at %v is the first, want %d at %v", got, s.Next(), first, next)
				}
				for i := range all {
					if w, there := want[i]; all[i].IsSet() != there || there && all[i].At() != w.at {
						t.Fatalf("deadline %d: set %v to %v, want %v %v", i, all[i].IsSet(), all[i].At(), there, w.at)
					}
				}
			},
		})
	})
}
