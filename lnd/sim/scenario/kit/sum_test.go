package kit_test

import (
	"testing"
	"time"

	"ulnet/lnd/sim/scenario/kit"
)

type counters struct {
	Sent   uint64
	Kinds  [3]uint64
	Paused time.Duration
}

// TestSum: counters are added field by field, those of lives that have not begun left out,
// and what is no counter is not.
func TestSum(t *testing.T) {
	lives := []*counters{{1, [3]uint64{1, 2, 3}, time.Second}, nil, {10, [3]uint64{0, 20, 30}, time.Second}}
	got := kit.Sum(lives, func(c *counters) counters { return *c })
	if want := (counters{Sent: 11, Kinds: [3]uint64{1, 22, 33}}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
