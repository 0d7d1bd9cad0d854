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
