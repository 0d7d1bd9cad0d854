package incarnation_test

import (
	"path/filepath"
	"testing"
	"time"

	"ulnet/cmd/internal/incarnation"
	"ulnet/lnd/lndtest/spec"
)

// TestKept: MS-A2: the highest number of each name is kept, separately from the number of the
// node.
func TestKept(t *testing.T) {
	spec.Covers(t, "MS-A2")
	dir := t.TempDir()
	want := func(name string, n uint64) {
		t.Helper()
		if got, err := incarnation.Kept(dir, name); got != n || err != nil {
			t.Errorf("%s: %d, %v, want %d", name, got, err, n)
		}
	}
	keep := func(name string, n uint64) {
		t.Helper()
		if err := incarnation.Keep(dir, name, n); err != nil {
			t.Error(err)
		}
	}
	want("a", 0)
	keep("a", 7)
	keep("b", 9)
	want("a", 7)
	keep("a", 6)
	want("a", 7)
	keep("a", 1<<63)
	want("a", 1<<63)
	want("b", 9)
	if n := mustNext(t, dir, time.Unix(0, 5)); n != 5 {
		t.Errorf("the node's own: %d", n)
	}
	nowhere := filepath.Join(dir, "nowhere")
	if _, err := incarnation.Kept(nowhere, "a"); err == nil {
		t.Error("nothing can be kept there, without an error")
	}
	if err := incarnation.Keep(nowhere, "a", 1); err == nil {
		t.Error("nothing can be kept there, without an error")
	}
}
