package portals

import (
	"testing"

	"ulnet/lnet/nid"
)

// TestHopOfTimed: an MD that is given up blames the next hop of the latest operation without a call,
// also if an earlier operation, which has a call only to be timed, got no answer either.
func TestHopOfTimed(t *testing.T) {
	plain, needed, timed := nid.MustParse("10.0.0.1@tcp"), nid.MustParse("10.0.0.2@tcp"), nid.MustParse("10.0.0.3@tcp")
	one := answers{acks: 1}
	for name, c := range map[string]struct {
		asked *asked
		want  nid.NID
	}{
		"nothing awaited":           {nil, nid.NID{}},
		"only one that is timed":    {&asked{hop: plain, calls: &call{hop: timed, onlyTimed: true}}, timed},
		"timed, and one of the MD":  {&asked{all: one, hop: plain, calls: &call{hop: timed, onlyTimed: true}}, plain},
		"timed, and another call":   {&asked{hop: plain, calls: &call{hop: timed, onlyTimed: true, after: &call{hop: needed}}}, needed},
		"a call, and one of the MD": {&asked{all: one, hop: plain, calls: &call{hop: needed}}, needed},
	} {
		if got := (&md{asked: c.asked}).hop(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
