package effort

import (
	"testing"
)

// TestOf: the level of the run decides; long takes precedence over short.
func TestOf(t *testing.T) {
	t.Setenv("ULNET_LONG", "")
	want := 2
	if testing.Short() {
		want = 1
	}
	if got := Of(1, 2, 3); got != want || Long() {
		t.Errorf("%d, want %d", got, want)
	}
	t.Setenv("ULNET_LONG", "1")
	if got := Of(1, 2, 3); got != 3 || !Long() || !Variants() {
		t.Errorf("%d in a long run", got)
	}
}

// TestSeeds: a long run tries a tenth of a sweep's seeds and no fewer than other runs, and ULNET_LONG=sweep all.
func TestSeeds(t *testing.T) {
	for _, c := range []struct {
		long      string
		all, want int
	}{{"1", 1000, 100}, {"1", 100, 20}, {"sweep", 1000, 1000}} {
		t.Setenv("ULNET_LONG", c.long)
		if got := Seeds(10, 20, c.all); got != c.want || !Long() || Sweeping() != (c.long == "sweep") {
			t.Errorf("ULNET_LONG=%s, of %d: %d, want %d", c.long, c.all, got, c.want)
		}
	}
	t.Setenv("ULNET_LONG", "")
	want := 20
	if testing.Short() || Race {
		want = 10
	}
	if got := Seeds(10, 20, 1000); got != want || Sweeping() {
		t.Errorf("%d, want %d", got, want)
	}
}
