package portals

import (
	"testing"

	"ulnet/lnet/nid"
)

// TestHopOfTimed checks which next hop is blamed when an MD is given up: that of an operation with a call,
// otherwise that of the latest operation without one. A call made only for the timing is blamed if nothing
// else is awaited.
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
