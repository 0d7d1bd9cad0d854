package lnd

import (
	"errors"
	"syscall"
	"testing"
)

// TestOverride: Override sets the tunables that are named. It refuses unknown names, and values out of
// bounds, with EINVAL.
func TestOverride(t *testing.T) {
	conns, mtu := 1, 0
	list := []Tunable{Tune("conns", 1, Number(&conns, 1, 127), ""), Tune("mtu", 0, Among(&mtu, 0, 1024, 4096), "")}
	if err := Override(list, map[string]int{"conns": 4, "mtu": 1024}); err != nil || conns != 4 || mtu != 1024 {
		t.Errorf("conns %d, mtu %d, %v", conns, mtu, err)
	}
	for _, bad := range []map[string]int{{"conns": 0}, {"conns": 128}, {"mtu": 2}, {"other": 1}} {
		if err := Override(list, bad); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("%v: %v, want EINVAL", bad, err)
		}
	}
	if conns != 4 || mtu != 1024 {
		t.Errorf("a refused value was set: conns %d, mtu %d", conns, mtu)
	}
}
