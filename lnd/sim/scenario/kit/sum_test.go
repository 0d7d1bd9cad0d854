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
	Small  struct {
		Any   uint
		Byte  uint8
		Short uint16
		Word  uint32
	}
	hidden uint64
	inside struct{ Deep uint64 }
}

// TestSum: counters are added field by field. Incarnations that have not begun are skipped,
// and fields that are no counters or not exported are not added.
func TestSum(t *testing.T) {
	a := &counters{Sent: 1, Kinds: [3]uint64{1, 2, 3}, Paused: time.Second, hidden: 1}
	a.Small.Any, a.Small.Byte, a.Small.Short, a.Small.Word, a.inside.Deep = 1, 2, 3, 4, 5
	b := &counters{Sent: 10, Kinds: [3]uint64{0, 20, 30}, Paused: time.Second, Small: a.Small}
	got := kit.Sum([]*counters{a, nil, b}, func(c *counters) counters { return *c })
	want := counters{Sent: 11, Kinds: [3]uint64{1, 22, 33}}
	want.Small.Any, want.Small.Byte, want.Small.Short, want.Small.Word = 2, 4, 6, 8
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
