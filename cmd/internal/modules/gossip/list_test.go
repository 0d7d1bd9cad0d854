package gossip

import (
	"errors"
	"slices"
	"syscall"
	"testing"

	"ulnet/gossip"
	"ulnet/gossip/engine"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/nid"
)

// TestHasMajority: a list of which half or more is not alive is not committed if that loses a quorum.
func TestHasMajority(t *testing.T) {
	spec.Covers(t, "GO-A21")
	for name, c := range map[string]struct {
		old, joins string // participants of the old list that stay, and those that join: a alive, d dead or unknown; l in old: alive and leaves
		want       int    // number of NIDs in the error; 0: none
	}{
		"two to four":               {"aa", "dd", 2},
		"two to four, one is heard": {"aa", "ad", 0},
		"three to six":              {"aaa", "ddd", 3},
		"a dead one of three":       {"aad", "d", 2},
		"one to two":                {"a", "d", 1},
		"one to two, heard":         {"a", "a", 0},
		"two to three":              {"aa", "d", 0},
		"replaces one of two":       {"al", "d", 1},
		"shrinks":                   {"aall", "", 0},
		"no quorum before":          {"add", "dd", 0},
		"has left":                  {"ddd", "d", 0},
	} {
		s := gossip.RollStatus{Staged: true}
		for i, state := range c.old + c.joins {
			p := engine.RollMember{NID: nid.FromNumber(nid.MakeNet(nid.TCP, 0), uint32(i+1)), State: engine.RollStaged, Joins: i >= len(c.old), Leaves: state == 'l'}
			if state != 'd' {
				p.Health = gossip.Alive
			}
			if !p.Joins {
				s.N++
			}
			if !p.Leaves {
				s.NewN++
			}
			s.Members = append(s.Members, p)
		}
		err := hasMajority(s)
		e, _ := errors.AsType[*gossip.Error](err)
		if (err == nil) != (c.want == 0) || err != nil && (!errors.Is(err, syscall.EBUSY) || len(e.NIDs) != c.want || slices.Contains(e.NIDs, s.Members[0].NID)) {
			t.Errorf("%s: %v, want %d NIDs", name, err, c.want)
		}
		if s.Staged = false; hasMajority(s) != nil {
			t.Errorf("%s: refused although nothing is staged", name)
		}
	}
}
